package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/em-infra/em-infra/internal/lab/control"
)

// listeners are the sockets of the lab. The claims serve nothing: they reserve the node networks against labs of other projects
// on this machine.
type listeners struct {
	proxmox, factory, nas, console net.Listener
	claims                         []net.Listener
}

// close also closes listeners that were never served. Closing one twice is harmless.
func (l listeners) close() {
	for _, listener := range append([]net.Listener{l.proxmox, l.factory, l.nas, l.console}, l.claims...) {
		if listener != nil {
			listener.Close()
		}
	}
}

func listen(d Description, dir string) (l listeners, err error) {
	if l.proxmox, err = listenOn(d.Proxmox, "the Proxmox VE API", dir); err != nil {
		return l, err
	}
	l.factory, err = listenOn(d.Factory, "the Image Factory", dir)
	if err == nil && d.NAS.IsValid() {
		l.nas, err = listenOn(d.NAS, "TrueNAS", dir)
	}
	if err == nil {
		l.console, err = control.Listen(dir)
	}
	for _, network := range d.Networks() {
		if err != nil {
			break
		}
		var claimed net.Listener
		claimed, err = claimNetwork(network, dir)
		l.claims = append(l.claims, claimed)
	}
	if err != nil {
		l.close()
	}
	return l, err
}

func listenOn(address netip.AddrPort, what, dir string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address.String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s of the lab listens on %s, which another process has taken: find it with `ss -ltnp 'sport = :%d'`, end it, and start the lab again; or %s", what, address, address.Port(), beginAnew(dir))
	}
	return listener, err
}
