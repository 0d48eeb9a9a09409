package migration

import (
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
)

func tree(names ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for _, name := range names {
		m[name] = &fstest.MapFile{Data: []byte("abc")}
	}
	return m
}

func TestRead(t *testing.T) {
	const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of abc, FIPS 180-2
	list, err := Read(tree("0002_b.sql", "0001_a_1.sql"))
	want := []Migration{{1, "0001_a_1.sql", digest, "abc"}, {2, "0002_b.sql", digest, "abc"}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, bad := range []fstest.MapFS{
		{},
		tree("0000_a.sql"),
		tree("0002_a.sql"),
		tree("0001_a.sql", "0001_b.sql"),
		tree("0001_a.sql", "0003_b.sql"),
		tree("0001_A.sql"),
		tree("1_a.sql"),
		tree("0001_a.sql", "0001_a.sql~"),
		tree("0001_a.sql/x"),
		tree("sub/0001_a.sql"),
	} {
		if list, err := Read(bad); !fault.Is(err, fault.Internal) || list != nil {
			t.Errorf("%v: %v, %v", bad, list, err)
		}
	}
}

func history(digests ...string) (list []Migration) {
	for i, digest := range digests {
		list = append(list, Migration{Version: int64(i + 1), Name: fmt.Sprintf("%04d_x.sql", i+1), Digest: digest})
	}
	return list
}

func TestMissing(t *testing.T) {
	gap := history("a", "b", "c")
	gap = append(gap[:1:1], gap[2])
	renamed := history("a")
	renamed[0].Name = "0001_y.sql"
	for _, c := range []struct {
		name          string
		applied, list []Migration
		missing       int
		cause         error
	}{
		{"all", nil, history("a", "b"), 2, nil},
		{"some", history("a"), history("a", "b", "c"), 2, nil},
		{"none", history("a", "b"), history("a", "b"), 0, nil},
		{"newer", history("a", "b"), history("a"), 0, ErrNewer},
		{"edited", history("a", "x"), history("a", "b"), 0, ErrChanged},
		{"edited and newer", history("x", "b"), history("a"), 0, ErrChanged},
		{"renamed", renamed, history("a"), 0, ErrChanged},
		{"gap", gap, history("a", "b", "c"), 0, ErrChanged},
		{"beginning lost", history("a", "b")[1:], history("a", "b"), 0, ErrChanged},
	} {
		missing, err := Missing(c.applied, c.list)
		if c.cause != nil {
			if !fault.Is(err, fault.Conflict) || !errors.Is(err, c.cause) || missing != nil {
				t.Errorf("%s: %v, %v", c.name, missing, err)
			}
			continue
		}
		if diff := cmp.Diff(c.list[len(c.list)-c.missing:], missing); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}
