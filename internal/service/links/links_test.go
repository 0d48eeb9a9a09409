package links_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/link"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/links"
)

func app() authority.Caller {
	return authority.Caller{Owner: id.New[id.Owner](), Client: id.New[id.Client](), Audience: authority.ForMCP}
}

// An address is read while its app may call something of the resource, and each try
// has one row; nothing else reaches a server.
func TestAnAddressIsReadByItsAppAlone(t *testing.T) {
	key, which, adapter := link.Key{3}, id.New[id.Resource](), id.New[id.Adapter]()
	c, other, may := app(), app(), true
	var asked, rows []string
	l := links.New(key, links.Ports{
		Behind: func(_ context.Context, _ authority.Caller, r id.Resource) (id.Adapter, bool, error) {
			return adapter, may && r == which, nil
		},
		Read: func(_ context.Context, at id.Adapter, uri string) ([]read.Content, error) {
			if asked = append(asked, uri); at != adapter || uri == "gone:1" {
				return nil, fault.New(fault.NotFound, "the server has no such resource")
			}
			return []read.Content{{URI: uri, Text: "x"}, {URI: uri + "/1", Blob: []byte{}}, {URI: "https://a.invalid"}}, nil
		},
		WasRead: func(_ authority.Caller, r id.Resource, outcome string) {
			rows = append(rows, map[id.Resource]string{which: "it: ", {}: "none: "}[r]+outcome)
		},
	})
	at := func(c authority.Caller, uri string) string {
		return key.Address(link.Reader{Owner: c.Owner, Client: c.Client}, which, uri)
	}
	got, err := l.Read(t.Context(), c, at(c, "a:1"))
	if diff := cmp.Diff([]read.Content{{URI: at(c, "a:1"), Text: "x"}, {URI: at(c, "a:1/1"), Blob: []byte{}}, {URI: "https://a.invalid"}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, address := range []string{at(other, "a:1"), at(c, "a:1") + "x", "steward://link/", "a:1"} {
		if got, err := l.Read(t.Context(), c, address); !fault.Is(err, fault.NotFound) || got != nil {
			t.Errorf("%q: %v %v", address, got, err)
		}
	}
	if _, err := l.Read(t.Context(), c, at(c, "gone:1")); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	may = false
	if _, err := l.Read(t.Context(), c, at(c, "a:1")); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a:1", "gone:1"}, asked); diff != "" {
		t.Error(diff)
	}
	none := "none: not_found"
	if diff := cmp.Diff([]string{"it: ok", none, none, none, none, "it: not_found", none}, rows); diff != "" {
		t.Error(diff)
	}
}

// An app reads so many a minute, and so many at once; another has its own.
func TestReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, which := link.Key{3}, id.New[id.Resource]()
		hold := make(chan struct{})
		l := links.New(key, links.Ports{
			Behind: func(context.Context, authority.Caller, id.Resource) (id.Adapter, bool, error) {
				return id.Adapter{}, true, nil
			},
			Read: func(ctx context.Context, _ id.Adapter, _ string) ([]read.Content, error) {
				select {
				case <-hold:
					return []read.Content{}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
			WasRead: func(authority.Caller, id.Resource, string) {},
		})
		c := app()
		reads := func(c authority.Caller) error {
			_, err := l.Read(t.Context(), c, key.Address(link.Reader{Owner: c.Owner, Client: c.Client}, which, "a:1"))
			return err
		}
		began := time.Now()
		for range bound.ResourceAtOnce.Int() {
			go func() { _ = reads(c) }()
		}
		synctest.Wait()
		if err := reads(c); !fault.Is(err, fault.RateLimited) {
			t.Errorf("one more at once: %v", err)
		}
		<-time.After(bound.CallDeadline.Duration())
		synctest.Wait() // nobody waits longer than that
		close(hold)
		for range bound.ResourcePerMinute.Int() - bound.ResourceAtOnce.Int() {
			if err := reads(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := reads(c); !fault.Is(err, fault.RateLimited) {
			t.Errorf("one more in the minute: %v", err)
		}
		if err := reads(app()); err != nil {
			t.Errorf("another app: %v", err)
		}
		<-time.After(time.Until(began.Add(time.Minute)))
		if err := reads(c); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}
