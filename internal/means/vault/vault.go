// Package vault keeps columns secret that the database must not tell by itself:
// stored results and the secrets of connections (pool page, section 11; threats,
// A76).
//
// A sealed value is bound to its place: the table, the row and the column. Moved
// to another row it does not open. The root key lies in a file of its own, which
// a backup leaves out unless told, so that a database or a backup alone tells
// nothing. Values are sealed with AES-256-GCM under a key derived from the root
// for the table. A Vault is immutable and safe for concurrent use.
//
// It does not hide how long a value is, nor that two values changed. A table takes
// 2^32 values under one root before two nonces may be the same by chance.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/stewardhost/steward/internal/ground/fault"
)

const (
	keyBytes   = 32
	format     = 1 // first byte of every sealed value
	keyVersion = 1 // of the root; a second root would be version 2
	headBytes  = 1 + 4
	purpose    = "stw sealed column v1 "
	derived    = "stw derived key v1 "
)

// The causes of a key, or of a value, that cannot be used.
var (
	ErrUnsafe  = errors.New("the root key can be read by others; use chmod 600")
	ErrSealed  = errors.New("it was sealed under another key or for another place, or was changed") // of Open of a value
	ErrMissing = errors.New("it is missing; put its file back, since nothing that was sealed opens without it")
)

// Vault seals and opens.
type Vault struct {
	root []byte

	mu    sync.Mutex
	ciphs map[string]cipher.AEAD // by table
}

// Place is where a sealed value lies.
type Place struct{ Table, Row, Column string }

// Open reads the root key from a file. A key that is missing, that others can
// read, that is a link, or of the wrong size is refused: Unavailable, with
// ErrMissing and ErrUnsafe as the causes of the first two.
func Open(path string) (*Vault, error) { return open(path, false) }

// Make is Open for a place where nothing was sealed yet: a missing key is made,
// with its folder of mode 0700.
func Make(path string) (*Vault, error) { return open(path, true) }

func open(path string, fresh bool) (*Vault, error) {
	root, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && fresh:
		if root, err = mint(path); err != nil {
			err = fmt.Errorf("%w: %w", errMint, err)
		}
	case errors.Is(err, fs.ErrNotExist):
		err = ErrMissing
	}
	if err == nil {
		err = check(path, root)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the root key cannot be used: "+reason(err)).Because(err)
	}
	return &Vault{root: root, ciphs: make(map[string]cipher.AEAD)}, nil
}

func reason(err error) string {
	for _, known := range []error{ErrUnsafe, ErrMissing, errForm} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	why := "its file cannot be read"
	if errors.Is(err, errMint) {
		why = errMint.Error()
	}
	var system syscall.Errno // without the path
	if errors.As(err, &system) {
		why += ": " + system.Error()
	}
	return why
}

var errMint = errors.New("a new one cannot be made durable")

var errForm = fmt.Errorf("its file is not a key of %d bytes", keyBytes)

func mint(path string) ([]byte, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root := make([]byte, keyBytes)
	rand.Read(root)
	file, err := os.CreateTemp(folder, "root.*") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = file.Write(root)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		// Link, not rename: a key that somebody else made in between stays.
		err = os.Link(file.Name(), path)
	}
	// Nothing is sealed before the key's name is as durable as what it opens.
	return root, errors.Join(err, os.Remove(file.Name()), durable(folder), durable(filepath.Dir(folder)))
}

// durable makes the names in a folder outlive a loss of power.
func durable(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func check(path string, root []byte) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return ErrUnsafe
	}
	if !info.Mode().IsRegular() || len(root) != keyBytes {
		return errForm
	}
	return nil
}

// Seal gives the stored form of a value. An empty value stays empty.
func (v *Vault) Seal(at Place, value []byte) []byte {
	if len(value) == 0 {
		return nil
	}
	aead := v.cipher(at.Table)
	out := make([]byte, headBytes+aead.NonceSize(), headBytes+aead.NonceSize()+len(value)+aead.Overhead())
	out[0] = format
	binary.BigEndian.PutUint32(out[1:headBytes], keyVersion)
	nonce := out[headBytes:]
	rand.Read(nonce)
	return aead.Seal(out, nonce, value, bound(at))
}

// Open gives the value of a stored form; Unavailable where it was changed, lies
// in another place, or was sealed under another root.
func (v *Vault) Open(at Place, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	aead := v.cipher(at.Table)
	if len(sealed) < headBytes+aead.NonceSize() || sealed[0] != format || binary.BigEndian.Uint32(sealed[1:headBytes]) != keyVersion {
		return nil, shut(at, errors.New("not of a known form"))
	}
	nonce, text := sealed[headBytes:headBytes+aead.NonceSize()], sealed[headBytes+aead.NonceSize():]
	value, err := aead.Open(nil, nonce, text, bound(at))
	if err != nil {
		return nil, shut(at, err)
	}
	return value, nil
}

func shut(at Place, err error) error {
	return fault.New(fault.Unavailable, "a stored value does not open with this root key").
		Because(fmt.Errorf("%w: %s %s of %s: %w", ErrSealed, at.Table, at.Column, at.Row, err))
}

// bound ties a value to its place, so that no two places look alike.
func bound(at Place) []byte {
	out := make([]byte, 0, len(at.Table)+len(at.Row)+len(at.Column)+32)
	for _, part := range []string{at.Table, at.Row, at.Column} {
		out = strconv.AppendInt(out, int64(len(part)), 10)
		out = append(append(append(out, ':'), part...), ',')
	}
	return strconv.AppendInt(out, keyVersion, 10)
}

// Key derives a secret for a purpose that is no table; the same for the same root.
func (v *Vault) Key(purpose string) [keyBytes]byte {
	key, err := hkdf.Key(sha256.New, v.root, nil, derived+purpose, keyBytes)
	if err != nil {
		panic("vault: " + err.Error()) // it fails only for sizes
	}
	return [keyBytes]byte(key)
}

// cipher derives a table's key once. Its steps fail only for sizes, which are
// constants here.
func (v *Vault) cipher(table string) cipher.AEAD {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.ciphs[table]; c != nil {
		return c
	}
	key, err := hkdf.Key(sha256.New, v.root, nil, purpose+table, keyBytes)
	if err != nil {
		panic("vault: " + err.Error())
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("vault: " + err.Error())
	}
	c, err := cipher.NewGCM(block)
	if err != nil {
		panic("vault: " + err.Error())
	}
	v.ciphs[table] = c
	return c
}
