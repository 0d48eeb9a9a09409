package projection_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/ground/id"
)

const url = "https://notes.example/contracts/notes/v1"

func ids(t *testing.T, last string) (id.Owner, id.Resource) {
	t.Helper()
	body := strings.Repeat("0", 25) + last
	owner, err := id.Parse[id.Owner]("own_" + body)
	if err != nil {
		t.Fatal(err)
	}
	resource, err := id.Parse[id.Resource]("res_" + body)
	if err != nil {
		t.Fatal(err)
	}
	return owner, resource
}

// Clients keep these names across restarts and versions of steward, so they are
// written down here once and for all.
func TestNamesStay(t *testing.T) {
	owner, resource := ids(t, "1")
	for method, want := range map[string]string{
		"get":                   "get_c80ab53ea0",
		"read_text-file2":       "read_text-file2_3573809af4",
		strings.Repeat("m", 53): strings.Repeat("m", 53) + "_5cfdf73f04",
		strings.Repeat("m", 54): strings.Repeat("m", 53) + "_60f212ee31",
		strings.Repeat("m", 64): strings.Repeat("m", 53) + "_db2d24d295",
	} {
		if got := projection.Name(owner, resource, url, method); got != want {
			t.Errorf("%s is called %s, want %s", method, got, want)
		}
	}
}

// What model interfaces accept (field faults, FF6 and FF7), whatever a method is
// called: the slug leads and the digest ends the name.
func TestNamesHaveTheForm(t *testing.T) {
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	owner, resource := ids(t, "1")
	for method, slug := range map[string]string{
		"":                        "tool_",
		"a":                       "a_",
		"admin.tools/list":        "admin_tools_list_",
		"ä b\x00\n":               "___b___",
		strings.Repeat("x", 60):   strings.Repeat("x", 53) + "_",
		strings.Repeat("x", 64):   strings.Repeat("x", 53) + "_",
		strings.Repeat("ä", 1000): strings.Repeat("_", 54),
	} {
		got := projection.Name(owner, resource, url, method)
		if !form.MatchString(got) || !strings.HasPrefix(got, slug) || len(got) != len(slug)+10 {
			t.Errorf("%.70q is called %s", method, got)
		}
	}
}

// Whatever differs makes another name, also where the slugs are one.
func TestNamesDiffer(t *testing.T) {
	owner, resource := ids(t, "1")
	otherOwner, otherResource := ids(t, "2")
	long := strings.Repeat("x", 63)
	names := map[string]string{}
	add := func(what string, o id.Owner, r id.Resource, contract, method string) {
		t.Helper()
		name := projection.Name(o, r, contract, method)
		if other, taken := names[name]; taken {
			t.Errorf("%s and %s are both called %s", what, other, name)
		}
		names[name] = what
	}
	add("a method", owner, resource, url, "get")
	add("another owner's", otherOwner, resource, url, "get")
	add("another resource's", owner, otherResource, url, "get")
	add("another contract's", owner, resource, url+"1", "get")
	add("another method", owner, resource, url, "gets")
	add("a part of the name in the contract", owner, resource, url+"g", "et")
	add("a long one", owner, resource, url, long+"a")
	add("a long one with another end", owner, resource, url, long+"b")
	add("one with a dot", owner, resource, url, "a.b")
	add("one with a slash", owner, resource, url, "a/b")
	add("one with a line", owner, resource, url, "a_b")
	for i := range 10_000 {
		add(fmt.Sprint("number ", i), owner, resource, url, fmt.Sprintf("%s%04d", long[:60], i))
	}
}
