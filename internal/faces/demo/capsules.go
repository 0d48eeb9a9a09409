package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	introspect = "introspect"
	grantsURI  = "introspect:grants"
)

const (
	shelfFile = "recipe.md"
	shelfURI  = "files:///" + shelfFile
	shelfText = "Beat two eggs."
)

// A capsule as somebody writes it who has no compiler: a manifest, and a program
// that answers a line with a line.
const (
	ownName     = "greeting"
	ownURI      = "greeting:today"
	ownText     = "Good morning."
	ownManifest = `name = "greeting"
version = "1"
publisher = "me"
runtime = "process"
command = ["sh", "./greeting.sh"]

[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}

[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
`
	ownProgram = `read -r hello
echo '{"type":"ready"}'
while read -r line; do
	id=${line#*'"id":"'}
	id=${id%%'"'*}
	case $line in
	*request.describe*) echo '{"type":"reply","id":"'"$id"'","payload":{"resources":[{"uri":"greeting:today","name":"Today"}]}}' ;;
	*'"uri":"greeting:today"'*) echo '{"type":"reply","id":"'"$id"'","payload":{"uri":"greeting:today","contents":[{"text":{"uri":"greeting:today","mime-type":"text/plain","text":"Good morning."}}]}}' ;;
	*) echo '{"type":"silent","id":"'"$id"'"}' ;;
	esac
done
`
)

// capsule has a folder served by a capsule that comes with the host, and the app
// read it as a resource.
func (s *story) capsule() error {
	folder := filepath.Join(s.dir, "shelf")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, shelfFile), []byte(shelfText), 0o600); err != nil {
		return err
	}
	if _, err := s.tell("capsule", "install", "files", folder); err != nil {
		return err
	}
	list, err := s.modern("resources/list", "", map[string]any{})
	if err != nil {
		return err
	}
	if err := must(list.errorCode == "" && !strings.Contains(list.raw, shelfURI), "without a grant the app lists %s", list.raw); err != nil {
		return err
	}
	if _, err := s.tell("grants", "add", appID, "files", "read"); err != nil {
		return err
	}
	got, err := s.read(shelfURI)
	if err != nil {
		return err
	}
	s.say("  %s -> %s", shelfURI, got)
	if err := must(got == shelfText, "it reads %q", got); err != nil {
		return err
	}
	if _, err := s.tell("capsule", "remove", "files"); err != nil {
		return err
	}
	gone, err := s.modern("resources/read", shelfURI, map[string]any{"uri": shelfURI})
	if err != nil {
		return err
	}
	s.say("  afterwards: %s", gone.message)
	return must(gone.errorCode == "-32602", "a removed capsule answers %s", gone.raw)
}

// read is the text of a resource, as the app reads it.
func (s *story) read(uri string) (string, error) {
	session, err := s.session(s.ctx)
	if err != nil {
		return "", err
	}
	defer session.Close()
	got, err := session.ReadResource(s.ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	if len(got.Contents) != 1 {
		return "", fmt.Errorf("%s has %d contents, want 1", uri, len(got.Contents))
	}
	return got.Contents[0].Text, nil
}

// introspection has the app read what it may do, from the capsule that knows.
func (s *story) introspection() error {
	if _, err := s.tell("capsule", "install", introspect); err != nil {
		return err
	}
	if _, err := s.tell("grants", "add", appID, introspect, "read"); err != nil {
		return err
	}
	text, err := s.read(grantsURI)
	if err != nil {
		return err
	}
	rows, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		return err
	}
	states := map[string]string{}
	for _, row := range rows.Items {
		resource, _ := row.Get("resource")
		method, _ := row.Get("method")
		state, _ := row.Get("state")
		if resource.Text == server {
			states[method.Text] = state.Text
			s.say("  %s %s: %s", server, method.Text, state.Text)
		}
	}
	return must(states["write_note"] == "active" && states["read_note"] == "revoked", "the grants are %s", text)
}

// ownCapsule installs a folder with a capsule of a person's own.
func (s *story) ownCapsule() error {
	folder := filepath.Join(s.dir, ownName)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"Capsule.toml": ownManifest, ownName + ".sh": ownProgram} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	s.say("The folder holds a Capsule.toml and %s.sh, a few lines of shell.", ownName)
	if _, err := s.tell("capsule", "install", folder); err != nil {
		return err
	}
	if _, err := s.tell("grants", "add", appID, ownName, "read"); err != nil {
		return err
	}
	got, err := s.read(ownURI)
	if err != nil {
		return err
	}
	s.say("  %s -> %s", ownURI, got)
	return must(got == ownText, "it reads %q", got)
}
