package registry_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// What a client does to recompute both hashes, from the guide alone.
func TestHashesAreAsPublished(t *testing.T) {
	kind, name, description, content := "skill", "note", "Größe", "line\n"
	var b bytes.Buffer
	b.WriteString("magi-application-resource-v1")
	for _, part := range []string{kind, name, description, content} {
		_ = binary.Write(&b, binary.BigEndian, uint64(len(part)))
		b.WriteString(part)
	}
	revision, body := sha256.Sum256(b.Bytes()), sha256.Sum256([]byte(content))
	if got := registry.RevisionHash(registry.Kind(kind), name, description, content); got != hex.EncodeToString(revision[:]) {
		t.Errorf("revision %s", got)
	}
	if got := registry.ContentHash(content); got != hex.EncodeToString(body[:]) {
		t.Errorf("content %s", got)
	}
	// Made by another implementation.
	if got := registry.RevisionHash("skill", "note", "two", "text"); got != noteTwoText {
		t.Errorf("note: %s", got)
	}
}

func skill(t *testing.T, b *registry.Book, session, name, content string, n *int) error {
	t.Helper()
	*n++
	parsed, err := registry.Parse(registry.Skill, content)
	if err != nil {
		return err
	}
	_, _, err = b.Apply(registry.Register{Session: session, Proposal: registry.Proposal{Kind: registry.Skill, Name: name}}, parsed, registry.Attribution{},
		registry.Fresh{Resource: fmt.Sprint("res", *n), Revision: fmt.Sprint("rev", *n), Registry: fmt.Sprint("reg", *n)})
	return err
}

// Each bound of the guide is met at its number and refused one over.
func TestBoundsOfRegistries(t *testing.T) {
	n := 0
	b := registry.New()
	for i := range bound.RegistrySkills.Int() {
		if err := skill(t, b, "s", fmt.Sprint("n", i), "x", &n); err != nil {
			t.Fatal(err)
		}
	}
	if err := skill(t, b, "s", "more", "x", &n); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("a skill too many: %v", err)
	}

	b = registry.New()
	half := strings.Repeat("x", 7000)
	if err := skill(t, b, "s", "a", half, &n); err != nil {
		t.Error(err)
	}
	if err := skill(t, b, "s", "b", half, &n); err != nil {
		t.Error(err)
	}
	if err := skill(t, b, "s", "c", strings.Repeat("x", 2000), &n); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("more than the registry holds: %v", err)
	}

	b = registry.New()
	for i := range bound.RegistrySessions.Int() {
		if _, err := b.List(fmt.Sprint("s", i), fmt.Sprint("r", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.List("more", "r"); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("a registry too many: %v", err)
	}
	for i := range bound.RetainedSnapshots.Int() {
		if err := skill(t, b, fmt.Sprint("s", i), "n", "x", &n); err != nil {
			t.Fatal(err)
		}
	}
	if err := skill(t, b, "s0", "m", "x", &n); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("a snapshot beside 256: %v", err)
	}
	if got := b.Usage().Snapshots; got != bound.RetainedSnapshots.Int() {
		t.Errorf("%d snapshots", got)
	}
	if _, _, err := b.Clear("s0", b.Current("s0").Revision, "fresh"); err != nil {
		t.Errorf("clear stays possible: %v", err)
	}
}

func TestSourcesHaveLimits(t *testing.T) {
	for over := range 2 {
		_, err := registry.Parse(registry.Skill, strings.Repeat("x", bound.SkillSourceBytes.Int()+over))
		if fault.Is(err, fault.LimitExceeded) != (over == 1) {
			t.Errorf("a skill %d over: %v", over, err)
		}
		p := registry.Proposal{Kind: registry.Skill, Name: "n" + strings.Repeat("x", bound.ResourceNameBytes.Int()-1+over)}
		if fault.Is(p.Check(), fault.InvalidPayload) != (over == 1) {
			t.Errorf("a name %d over", over)
		}
		p = registry.Proposal{Kind: registry.Skill, Name: "n", Description: strings.Repeat("x", bound.ResourceTextBytes.Int()+over)}
		if fault.Is(p.Check(), fault.InvalidPayload) != (over == 1) {
			t.Errorf("a description %d over", over)
		}
		p = registry.Proposal{Kind: registry.Skill, Name: "n", Path: strings.Repeat("x", bound.SourcePathBytes.Int()+over)}
		if fault.Is(p.Check(), fault.InvalidPayload) != (over == 1) {
			t.Errorf("a path %d over", over)
		}
	}
}

const noteTwoText = "3b9fed5183658381eb5264a10992bc09b173aa07f8bdf81f7bc1eae79bd469c6"
