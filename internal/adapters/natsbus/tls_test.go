package natsbus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// vouched makes a certificate for loopback and the file of the authority that
// vouches for it, which is itself.
func vouched(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sample := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, sample, sample, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// A server is spoken to under TLS once its certificate is vouched for, and nothing
// is said to one without.
func TestServersProveWhoTheyAre(t *testing.T) {
	k := keysOf(t)
	certificate, ca := vouched(t)
	_, otherCA := vouched(t)
	guarded := somebody(t, k.Config(), func(o *server.Options) {
		o.TLSConfig, o.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{certificate}}, 10
	})
	plain := somebody(t, k.Config(), nil)
	at := func(s *server.Server) string { return "tls://" + s.Addr().String() }
	b, err := OpenOutside(newHeard().listener(), Outside{URL: at(guarded), CA: ca, Keys: k})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	admit(t, b, owner(), "notes")
	for name, c := range map[string]struct {
		o    Outside
		text string
	}{
		"not of the system's authorities": {Outside{URL: at(guarded), Keys: k}, "prove who they are"},
		"of another authority":            {Outside{URL: at(guarded), CA: otherCA, Keys: k}, "prove who they are"},
		"no TLS":                          {Outside{URL: at(plain), CA: ca, Keys: k}, "TLS"},
		"no authority":                    {Outside{URL: at(guarded), CA: filepath.Join(t.TempDir(), "none"), Keys: k}, "no authority"},
	} {
		b, err := OpenOutside(Listener{}, c.o)
		if err == nil {
			b.Close()
		}
		if !fault.Is(err, fault.PreconditionFailed) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
