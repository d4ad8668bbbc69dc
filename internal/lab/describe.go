package lab

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// firstPort is where a lab looks for two free ports when it is made; it reminds of the port of Proxmox VE.
const firstPort = 18006

// tokenID is the emulated host's only token, with the role that em-infra documents.
const tokenID = "em-infra@pve!rehearsal"

// describe is the lab's description: what was chosen when it was made, or chosen now.
func describe(o Options) (Description, error) {
	d, err := ReadDescription(o.Dir)
	switch {
	case errors.Is(err, ErrNoLab):
		if d, err = newDescription(o); err != nil {
			return d, err
		}
	case err != nil:
		return d, err
	}
	if o.TimeScale != nil {
		d.TimeScale = *o.TimeScale
	}
	return d, nil
}

func newDescription(o Options) (Description, error) {
	network, err := chooseNetwork(o.Inventory, o.Dir)
	if err != nil {
		return Description{}, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return Description{}, err
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return Description{
		Stack:     o.Stack,
		Host:      o.Inventory.Cluster.Proxmox.Host,
		Network:   network,
		Proxmox:   netip.AddrPortFrom(loopback, ports[0]),
		Factory:   netip.AddrPortFrom(loopback, ports[1]),
		Token:     tokenID + "=" + strings.ToLower(rand.Text()),
		TimeScale: pace.DefaultScale,
	}, nil
}

func freePorts(count int) ([]uint16, error) {
	var ports []uint16
	for port := firstPort; port < firstPort+1000 && len(ports) < count; port++ {
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err == nil {
			ports = append(ports, uint16(port))
			listener.Close()
		}
	}
	if len(ports) < count {
		return nil, errors.New("no port from 18006 to 19005 is free: stop other labs with `em-infra lab stop`")
	}
	return ports, nil
}

func (d Description) token() proxmox.Token {
	id, secret, _ := strings.Cut(d.Token, "=")
	return proxmox.Token{ID: id, Secret: secret, Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(schema.Release84)}
}

// selfSigned is a certificate such as a fresh Proxmox VE host shows: nobody trusts it.
func selfSigned(address net.Addr) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{Organization: []string{"PVE Cluster Node"}, CommonName: cmp.Or(address.String(), "pve")},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(2, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
