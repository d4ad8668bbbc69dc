package lab

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// A new lab chooses two free ports in this range. The first one resembles the port of Proxmox VE.
const firstPort, lastPort = 18006, 19006

// tokenID is the ID of the emulated host's only token.
const tokenID = "em-infra@pve!rehearsal"

// describe returns the lab's description with the options applied. It creates the description of a new lab.
func describe(o Options) (Description, error) {
	d, err := ReadDescription(o.Dir)
	switch {
	case errors.Is(err, ErrNoLab):
		if d, err = chooseDescription(o); err != nil {
			return d, err
		}
	case err != nil:
		return d, err
	}
	if d, err = d.withNetworks(o); err != nil {
		return d, err
	}
	if d, err = d.withNAS(o); err != nil {
		return d, err
	}
	if err := registry(o.Registry).add(o.Dir); err != nil {
		return d, fmt.Errorf("register the lab: %w", err)
	}
	if o.TimeScale != nil {
		d.TimeScale = *o.TimeScale
	}
	d.Seed = cmp.Or(o.Seed, d.Seed)
	d.Kubernetes = nil
	if o.Kubernetes != nil {
		d.Kubernetes = o.Kubernetes.Versions()
	}
	return d, d.Bears(o.Release)
}

// chooseDescription creates the description of a new lab and writes it.
func chooseDescription(o Options) (Description, error) {
	d, err := newDescription(o)
	if err != nil {
		return d, err
	}
	return d, d.write(o.Dir)
}

func newDescription(o Options) (Description, error) {
	if o.Release != "" {
		if _, err := schema.Load(o.Release); err != nil {
			return Description{}, err
		}
	}
	network, ports, err := o.chooseAddresses()
	if err != nil {
		return Description{}, err
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return Description{
		Stack:     o.Stack,
		Host:      o.Site.Host,
		Network:   network,
		Proxmox:   netip.AddrPortFrom(loopback, ports[0]),
		Factory:   netip.AddrPortFrom(loopback, ports[1]),
		Token:     tokenID + "=" + strings.ToLower(rand.Text()),
		Password:  strings.ToLower(rand.Text()),
		TimeScale: pace.DefaultScale,
		Release:   cmp.Or(o.Release, schema.Release84),
		Seed:      cmp.Or(o.Seed, o.Stack),
	}, nil
}

// chooseAddresses returns addresses that no other lab has. Where labs of other projects that are stopped have taken all, it
// returns free ones of theirs.
func (o Options) chooseAddresses() (network netip.Prefix, ports []uint16, err error) {
	registered, err := registry(o.Registry).others(o.Dir)
	if err != nil {
		return network, nil, fmt.Errorf("look for other labs: %w", err)
	}
	beside := descriptionsBeside(o.Dir)
	for _, labs := range [][]Description{slices.Concat(registered, beside), beside} {
		others := takenBy(labs)
		if network, err = o.Site.chooseNetwork(o.Site.Networks[0], others.networks); err == nil {
			ports, err = freePorts(2, others.ports)
		}
		if err == nil {
			break
		}
	}
	return network, ports, err
}

func freePorts(count int, taken []uint16) ([]uint16, error) {
	var ports []uint16
	for port := uint16(firstPort); port < lastPort && len(ports) < count; port++ {
		if slices.Contains(taken, port) {
			continue
		}
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
		if err == nil {
			ports = append(ports, port)
			listener.Close()
		}
	}
	if len(ports) < count {
		return nil, fmt.Errorf("no two ports from %d to %d are free: stop other labs with `em-infra lab stop`", firstPort, lastPort)
	}
	return ports, nil
}

func (d Description) accounts() []proxmox.Account {
	if d.Password == "" {
		return nil
	}
	return []proxmox.Account{{ID: access.Root, Password: d.Password}}
}

// token returns the lab's token, with the given role or the role that em-infra documents.
func (d Description) token(role string) proxmox.Token {
	id, secret, _ := strings.Cut(d.Token, "=")
	if role != "" {
		return proxmox.Token{ID: id, Secret: secret, Role: role}
	}
	return proxmox.Token{ID: id, Secret: secret, Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(d.Release)}
}
