package demo

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const (
	server = "notes"
	appID  = "assistant"
)

type added struct{ mcp, rpc string }

type configFile struct {
	Servers map[string]configEntry `json:"mcpServers"`
}

type configEntry struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func (s *story) configFile() string { return filepath.Join(s.dir, "mcp.json") }

func (s *story) dryRun() error {
	if err := os.Mkdir(s.notes(), 0o700); err != nil {
		return err
	}
	raw, err := strictjson.Encode(configFile{map[string]configEntry{
		server: {s.self, []string{"notes-server", "--dir", s.notes(), "--pid-file", s.pidFile()}}}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.configFile(), raw, 0o600); err != nil {
		return err
	}
	s.say("The file is an ordinary mcpServers file, as desktop assistants have it.")
	if _, err := s.tell("import", s.configFile(), "--dry-run"); err != nil {
		return err
	}
	var all adminwire.Resources
	if err := s.ask(&all, "resources", "list", "--json"); err != nil {
		return err
	}
	for _, r := range all.Resources {
		if r.Label == server {
			return must(false, "a dry run stored the resource %s", r.ID)
		}
	}
	return nil
}

func (s *story) importServer() error {
	if _, err := s.tell("import", s.configFile()); err != nil {
		return err
	}
	out, err := s.tell("review", server)
	if err != nil {
		return err
	}
	diff := regexp.MustCompile(`(?m)^ +\+ /title: at most 4,096 characters \(had no limit\)$`).FindString(out)
	return must(diff != "", "the review does not show what was narrowed")
}

func (s *story) approve() error {
	_, err := s.tell("review", "--approve", server, "--methods", "read_note,write_note,send_note",
		"--effects", "read_note=read,write_note=write,send_note=communicate")
	return err
}

func (s *story) grant() error {
	var app adminwire.AddedApp
	s.say("$ steward apps add %s", appID)
	if err := s.ask(&app, "apps", "add", appID, "--json"); err != nil {
		return err
	}
	for _, t := range app.Tokens {
		switch t.Audience {
		case "mcp":
			s.app.mcp = t.Token
		case "rpc":
			s.app.rpc = t.Token
		}
	}
	s.say("  The app has one token for /mcp and one for /rpc/v1. They carry no rights.")
	if _, err := s.tell("grants", "add", appID, server, "read_note", "write_note", "send_note"); err != nil {
		return err
	}
	var rows adminwire.Grants
	if err := s.ask(&rows, "grants", "list", "--json"); err != nil {
		return err
	}
	s.tools = map[string]string{}
	for _, g := range rows.Grants {
		s.tools[g.Method] = g.Tool
	}
	return must(len(s.tools) == 3, "%d rows of authority, want 3", len(s.tools))
}

func (s *story) revoke() error {
	var rows adminwire.Grants
	if err := s.ask(&rows, "grants", "list", "--json"); err != nil {
		return err
	}
	for _, g := range rows.Grants {
		if g.Method != "read_note" {
			continue
		}
		if _, err := s.tell("grants", "revoke", g.ID); err != nil {
			return err
		}
	}
	refused, err := s.modernCall("read_note", map[string]any{"title": noteTitle})
	if err != nil {
		return err
	}
	if err := must(refused.errorCode == "-32602", "the call after the revocation was not refused: %s", refused.raw); err != nil {
		return err
	}
	s.say("The next call gets: %s", refused.message)
	return nil
}

func (s *story) verify() error {
	out, err := s.tell("journal", "verify")
	if err != nil {
		return err
	}
	return must(strings.TrimSpace(out) != "", "the check says nothing")
}
