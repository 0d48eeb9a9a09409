package journal

import (
	"database/sql"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/item"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	readItem = "SELECT s.value, s.version, s.updated_at FROM items s WHERE s.owner = $1 AND s.resource = $2 AND s.key = $3"
	pageOf   = "SELECT s.key, s.version, LENGTH(s.value), s.updated_at FROM items s WHERE s.owner = $1 AND s.resource = $2 " +
		"AND s.key > $3 AND s.key >= $4 AND s.key < $5 ORDER BY s.key LIMIT $6"
	writeItem = "INSERT INTO items (owner, resource, key, value, version, updated_at) VALUES ($1, $2, $3, $4, $5, $6) " +
		"ON CONFLICT (owner, resource, key) DO UPDATE SET value = $4, version = $5, updated_at = $6"
	dropItem = "DELETE FROM items WHERE owner = $1 AND resource = $2 AND key = $3"
)

type itemKey struct {
	Key string `json:"key"`
}

type itemPut struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type itemPage struct {
	Prefix string `json:"prefix,omitzero"`
	After  string `json:"after,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

type wholeItem struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Version   string `json:"version"`
	UpdatedAt string `json:"updated_at"`
}

type listedItem struct {
	Key       string `json:"key"`
	Version   string `json:"version"`
	Size      int64  `json:"size"`
	UpdatedAt string `json:"updated_at"`
}

type itemList struct {
	Items []listedItem `json:"items"`
	Next  string       `json:"next,omitzero"`
}

type putResult struct {
	Key     string `json:"key"`
	Version string `json:"version"`
}

type deleted struct {
	Deleted bool `json:"deleted"`
}

// storedItem reads an item of the called resource, nil if there is none.
func storedItem(tx *ledger.Tx, r run, key string) (*item.Item, error) {
	var value []byte
	found := item.Item{Key: key}
	ok, err := tx.One(readItem, []any{r.row.Owner.String(), r.row.Target.Resource.String(), []byte(key)}, &value,
		&found.Version, record.Moment(&found.UpdatedAt))
	if err != nil || !ok {
		return nil, err
	}
	found.Value = string(value)
	return &found, nil
}

func getItem(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[itemKey](r)
	if err != nil {
		return done{}, err
	}
	stored, err := storedItem(tx, r, args.Key)
	if err != nil {
		return done{}, err
	}
	if stored == nil {
		return done{failed: fault.New(fault.NotFound, "there is no such item")}, nil
	}
	return done{version: stored.Version, result: wholeItem{args.Key, stored.Value, stored.Version, stored.UpdatedAt.Format(stampForm)}}, nil
}

func listItems(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[itemPage](r)
	if err != nil {
		return done{}, err
	}
	limit := pageOr(args.Limit)
	// No UTF-8 text has the byte 0xff, so all keys with the prefix are before it.
	rows, err := tx.Query(pageOf, r.row.Owner.String(), r.row.Target.Resource.String(), []byte(args.After), []byte(args.Prefix),
		[]byte(args.Prefix+"\xff"), limit+1)
	list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (out listedItem, err error) {
		var key []byte
		var at time.Time
		err = rows.Scan(&key, &out.Version, &out.Size, record.Moment(&at))
		out.Key, out.UpdatedAt = string(key), at.Format(stampForm)
		return out, err
	})
	if err != nil {
		return done{}, err
	}
	out := itemList{Items: list}
	if len(list) > limit {
		out.Items = list[:limit]
		out.Next = list[limit-1].Key
	}
	return done{result: out}, nil
}

func putItem(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[itemPut](r)
	if err != nil {
		return done{}, err
	}
	if err := item.Check(args.Key, args.Value); err != nil {
		return done{}, err
	}
	end, _, err := meetCondition(tx, r, args.Key)
	if err != nil || end.failed != nil {
		return end, err
	}
	version := r.row.ID.String()
	if _, err := tx.Exec(writeItem, r.row.Owner.String(), r.row.Target.Resource.String(), []byte(args.Key), []byte(args.Value), version,
		tx.Now.UnixMilli()); err != nil {
		return done{}, err
	}
	return done{result: putResult{args.Key, version}, version: version, wrote: true}, nil
}

func deleteItem(tx *ledger.Tx, r run) (done, error) {
	args, err := arguments[itemKey](r)
	if err != nil {
		return done{}, err
	}
	end, stored, err := meetCondition(tx, r, args.Key)
	if err != nil || end.failed != nil {
		return end, err
	}
	if stored == nil {
		return done{failed: fault.New(fault.NotFound, "there is no such item")}, nil
	}
	if _, err := tx.Exec(dropItem, r.row.Owner.String(), r.row.Target.Resource.String(), []byte(args.Key)); err != nil {
		return done{}, err
	}
	return done{result: deleted{true}, wrote: true}, nil
}

// meetCondition reads the item and holds the call's precondition against it. A
// precondition that is no precondition is refused; one that does not hold is a
// failure that names the version which stands.
func meetCondition(tx *ledger.Tx, r run, key string) (done, *item.Item, error) {
	condition, err := item.ParseCondition(r.condition, strictjson.RequestLimits)
	if err != nil {
		return done{}, nil, err
	}
	stored, err := storedItem(tx, r, key)
	if err != nil {
		return done{}, nil, err
	}
	if err := condition.Holds(stored); err != nil {
		end := done{failed: fault.From(err)}
		if stored != nil {
			end.version = stored.Version
		}
		return end, stored, nil
	}
	return done{}, stored, nil
}

// pageOr is the wanted length of a page, or the largest.
func pageOr(limit int) int {
	if limit <= 0 || limit > bound.PageRows.Int() {
		return bound.PageRows.Int()
	}
	return limit
}
