package demo

import (
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	shelfFile = "recipe.md"
	shelfURI  = "files:///" + shelfFile
	shelfText = "Beat two eggs."
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
	session, err := s.session(s.ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	got, err := session.ReadResource(s.ctx, &sdk.ReadResourceParams{URI: shelfURI})
	if err != nil {
		return err
	}
	if err := must(len(got.Contents) == 1 && got.Contents[0].Text == shelfText, "it reads %+v", got.Contents); err != nil {
		return err
	}
	s.say("  %s -> %s", shelfURI, got.Contents[0].Text)
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
