package callout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Keys are what a host proves itself with. Servers know the public halves.
type Keys struct {
	issuer nkeys.KeyPair // signs who is let in
	seal   nkeys.KeyPair // opens the questions of servers
	door   proof         // of the connection that answers them
	hand   proof         // of the connection that ends others
}

// Format keeps the keys out of what is printed.
func (Keys) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[keys]") }

// proof is a key that signs what a server asks to have signed.
type proof struct{ nkeys.KeyPair }

func (p proof) option() nats.Option { return nats.Nkey(public(p), p.Sign) }

// public is the half that servers know. A pair that was made here always has one.
func public(k interface{ PublicKey() (string, error) }) string {
	text, _ := k.PublicKey()
	return text
}

// seeds is the file of the keys.
type seeds struct {
	Issuer string `json:"issuer"`
	Seal   string `json:"seal"`
	Door   string `json:"door"`
	Hand   string `json:"hand"`
}

const keysBytes = 4 << 10 // many times four seeds

// Keep reads the keys of a file, which only this user may read, and makes it with
// fresh ones if it is not there. Fault: unavailable, with a text that says what is
// wrong with the file.
func Keep(path string) (Keys, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return made(path)
	}
	var raw []byte
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() > keysBytes:
		err = errors.New("it is no file of keys")
	case info.Mode().Perm()&0o077 != 0:
		return Keys{}, fault.Newf(fault.Unavailable, "others can read the keys of the bus: chmod 600 %s", path)
	default:
		raw, err = os.ReadFile(path)
	}
	var s seeds
	if err == nil {
		err = strictjson.Decode(raw, strictjson.Limits{}, &s)
	}
	var k Keys
	if err == nil {
		k, err = s.open()
	}
	if err != nil {
		return Keys{}, fault.New(fault.Unavailable, "the keys of the bus cannot be read: "+path).Because(err)
	}
	return k, nil
}

// made writes fresh keys. Two who come at once cannot both have made them.
func made(path string) (Keys, error) {
	k, s, err := fresh()
	if err != nil {
		return Keys{}, fault.New(fault.Internal, "keys for the bus cannot be made").Because(err)
	}
	raw, err := strictjson.Encode(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		_, err = f.Write(append(raw, '\n'))
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return Keys{}, fault.New(fault.Unavailable, "the keys of the bus cannot be written: "+path).Because(err)
	}
	return k, nil
}

func fresh() (k Keys, s seeds, err error) {
	for _, one := range []struct {
		create func() (nkeys.KeyPair, error)
		into   *string
	}{{nkeys.CreateAccount, &s.Issuer}, {nkeys.CreateCurveKeys, &s.Seal}, {nkeys.CreateUser, &s.Door}, {nkeys.CreateUser, &s.Hand}} {
		pair, err := one.create()
		if err != nil {
			return k, s, err
		}
		seed, err := pair.Seed()
		if err != nil {
			return k, s, err
		}
		*one.into = string(seed)
	}
	k, err = s.open()
	return k, s, err
}

func (s seeds) open() (Keys, error) {
	issuer, err := nkeys.FromSeed([]byte(s.Issuer))
	seal, bad := nkeys.FromCurveSeed([]byte(s.Seal))
	err = errors.Join(err, bad)
	door, bad := nkeys.FromSeed([]byte(s.Door))
	err = errors.Join(err, bad)
	hand, bad := nkeys.FromSeed([]byte(s.Hand))
	if err = errors.Join(err, bad); err != nil {
		return Keys{}, err
	}
	k := Keys{issuer, seal, proof{door}, proof{hand}}
	if !nkeys.IsValidPublicAccountKey(public(issuer)) || !nkeys.IsValidPublicUserKey(public(door)) || !nkeys.IsValidPublicUserKey(public(hand)) {
		return Keys{}, errors.New("the keys are of other kinds")
	}
	return k, nil
}
