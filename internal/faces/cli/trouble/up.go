package trouble

import (
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// UsualListen is where the HTTP doors are unless the owner says otherwise.
const UsualListen = "127.0.0.1:7777"

// MetricsSocket is the name of the metrics' socket in place of an address.
const MetricsSocket = "socket"

// CheckMetrics refuses what CheckListen does, but for nothing and for the socket.
func CheckMetrics(address string) error {
	if address == "" || address == MetricsSocket {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return UsageOf("steward up --metrics "+MetricsSocket, "%s is not an address and a port, nor the word %s", paper.Word(address), MetricsSocket)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return New(Unsafe, "metrics and profiles are for this machine only, and "+paper.Word(address)+" is no loopback address", "steward up --metrics "+MetricsSocket)
}

// CheckListen refuses what would let others in: there is no TLS yet.
func CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return UsageOf("steward up --listen "+UsualListen, "%s is not an address and a port", paper.Word(address))
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return New(Unsafe, "the address "+paper.Word(address)+" reaches beyond this machine, and the doors have no TLS", "steward up --listen "+UsualListen)
}

// OfUp is the trouble of a host that did not start, or nil for nil. What it does
// not know the program has made a Trouble of.
func OfUp(err error, listen, folder string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return New(Later, "something else listens on "+listen, "steward up --listen 127.0.0.1:0")
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return New(Unsafe, err.Error(), "steward up --data "+paper.Word(filepath.Join(filepath.Dir(folder), "another-folder")))
	}
	var t *Trouble
	var f *fault.Fault
	if errors.As(err, &t) || errors.As(err, &f) {
		return err
	}
	return New(Failed, err.Error(), "mend that, then steward up")
}
