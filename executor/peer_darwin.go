package executor

import "net"

// checkPeer adds nothing here: the standard library cannot ask for the peer, and
// the folder and the socket are this user's.
func checkPeer(*net.UnixConn) error { return nil }
