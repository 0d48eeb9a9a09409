package outlet

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal that nobody sits at.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return slave
}

func echoes(t *testing.T, file *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// A secret is not shown while it is typed, and everything is again afterwards.
func TestASecretIsTypedUnseen(t *testing.T) {
	tty := terminal(t)
	shown := true
	answer, ok := Unseen(tty, func() (string, bool) {
		shown = echoes(t, tty)
		return "s3cret", true
	})
	if shown || answer != "s3cret" || !ok || !echoes(t, tty) {
		t.Errorf("shown %v while %q was typed, %v after it", shown, answer, echoes(t, tty))
	}
}
