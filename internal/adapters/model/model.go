// Package model opens the language model that an operator configured: one small
// interface over openai, anthropic and scripted (sessions page, section 9).
//
// It promises that a key comes from the environment or from a file of this user
// that nobody else may read, and is never in a fault or a log. It promises no
// answer: that is the model's. Faults of Open: invalid_request for a setting,
// with the text that a person needs. Settings are read once; what Open returns is
// safe for concurrent use.
package model

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/adapters/model/anthropic"
	"github.com/stewardhost/steward/internal/adapters/model/openai"
	"github.com/stewardhost/steward/internal/adapters/model/scripted"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/ownership"
)

// Model answers questions. The text of an answer goes to delta in parts, on the
// caller's goroutine; an error of delta ends the answer and comes back as it is.
// A context that ends gives its cause back.
type Model interface {
	Ask(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error)
	Close()
}

// The kinds of models.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Scripted  = "scripted"
)

// Settings say which model. The zero value is the scripted one with its default
// script.
type Settings struct {
	Kind   string        // one of the kinds; empty is Scripted
	Base   string        // base URL; empty is the vendor's own
	Name   string        // of the model; required but for Scripted
	Key    secret.Secret // if there is one
	Script string        // path of a script; empty is the default script
}

// FromEnvironment reads settings: STEWARD_MODEL, STEWARD_MODEL_URL,
// STEWARD_MODEL_NAME, STEWARD_MODEL_KEY or STEWARD_MODEL_KEY_FILE,
// STEWARD_MODEL_SCRIPT.
func FromEnvironment(env func(string) string) (Settings, error) {
	s := Settings{
		Kind: env("STEWARD_MODEL"), Base: env("STEWARD_MODEL_URL"), Name: env("STEWARD_MODEL_NAME"),
		Script: env("STEWARD_MODEL_SCRIPT"),
	}
	if key := env("STEWARD_MODEL_KEY"); key != "" {
		s.Key = secret.Of(key)
		return s, nil
	}
	if path := env("STEWARD_MODEL_KEY_FILE"); path != "" {
		key, err := readKey(path)
		s.Key = key
		return s, err
	}
	return s, nil
}

// readKey reads a file that must be a regular one of this user with mode 0600 or
// less.
func readKey(path string) (secret.Secret, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return secret.Secret{}, fault.New(fault.InvalidRequest, "the file with the model's key cannot be opened").Because(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return secret.Secret{}, fault.New(fault.InvalidRequest, "the file with the model's key cannot be read").Because(err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ownership.Mine(info) {
		return secret.Secret{}, fault.New(fault.InvalidRequest, "the file with the model's key must be a file of this user that nobody else can read (chmod 600)")
	}
	raw, err := io.ReadAll(io.LimitReader(file, bound.ModelKeyBytes.Max+1))
	if err != nil {
		return secret.Secret{}, fault.New(fault.InvalidRequest, "the file with the model's key cannot be read").Because(err)
	}
	if err := bound.ModelKeyBytes.Check(len(raw)); err != nil {
		return secret.Secret{}, err
	}
	key := strings.TrimSpace(string(raw))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return secret.Secret{}, fault.New(fault.InvalidRequest, "the file with the model's key must hold one line")
	}
	return secret.Of(key), nil
}

// Open returns the model; the caller closes it.
func Open(s Settings) (Model, error) {
	switch s.Kind {
	case "", Scripted:
		return openScript(s.Script)
	case OpenAI, Anthropic:
		if s.Name == "" {
			return nil, fault.New(fault.InvalidRequest, "say which model with STEWARD_MODEL_NAME")
		}
	}
	switch s.Kind {
	case OpenAI:
		return checked(openai.New(orElse(s.Base, openai.DefaultBase), s.Name, s.Key))
	case Anthropic:
		return checked(anthropic.New(orElse(s.Base, anthropic.DefaultBase), s.Name, s.Key))
	}
	return nil, fault.Newf(fault.InvalidRequest, "STEWARD_MODEL must be %s, %s or %s", OpenAI, Anthropic, Scripted)
}

// checked keeps a nil pointer from becoming a Model.
func checked[M Model](m M, err error) (Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func openScript(path string) (Model, error) {
	text := scripted.Default
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fault.New(fault.InvalidRequest, "the script of the model cannot be opened").Because(err)
		}
		defer file.Close()
		raw, err := io.ReadAll(io.LimitReader(file, bound.ScriptBytes.Max+1))
		if err != nil {
			return nil, fault.New(fault.InvalidRequest, "the script of the model cannot be read").Because(err)
		}
		text = string(raw)
	}
	return checked(scripted.Parse(text))
}
