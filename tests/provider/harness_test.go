// Package provider_test drives the emulated host with the client of the provider that every deployment uses
// (bpg/terraform-provider-proxmox, proxmox/**), without the provider around it.
package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bpg/terraform-provider-proxmox/proxmox/api"
	"github.com/bpg/terraform-provider-proxmox/proxmox/nodes"
	"github.com/bpg/terraform-provider-proxmox/proxmox/nodes/vms"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

const tokenID = "terraform@pve!em-infra"

// lab is a host with a template 9000, its faults, and the provider's client of it.
type lab struct {
	*nodes.Client
	faults *fault.Set
}

// newLab starts a host of a release that ends with the test; change may alter its configuration first.
func newLab(t *testing.T, release schema.Release, change ...func(*proxmox.Config)) *lab {
	t.Helper()
	secret := rand.Text()
	asked := fault.NewSet([32]byte{}, proxmox.FaultKinds())
	config := proxmox.Config{
		Hosts: []proxmox.Host{{
			Name: "vmhost", Cores: 8, CPUModel: "AMD EPYC", MemoryMiB: 32 << 10,
			Storages: []proxmox.Storage{{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 512 << 30}},
			Bridges:  []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}}},
		}},
		Release: release,
		Faults:  proxmox.NewFaultSet(pace.Pace{}, asked),
		Tokens: []proxmox.Token{{
			ID: tokenID, Secret: secret, Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(release),
		}},
	}
	for _, c := range change {
		c(&config)
	}
	server, err := proxmox.NewServer(config)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	certificate := selfSigned(t)
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(listener, certificate); err != nil {
			t.Errorf("serve: %s", err)
		}
	})
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %s", err)
		}
		served.Wait()
	})
	l := &lab{Client: &nodes.Client{Client: connect(t, listener.Addr(), tokenID+"="+secret), NodeName: "vmhost"}, faults: asked}
	l.makeTemplate(t)
	return l
}

// connect returns the provider's client as the provider makes it.
func connect(t *testing.T, address net.Addr, token string) api.Client {
	t.Helper()
	credentials, err := api.NewCredentials("", "", "", token, "", "")
	require.NoError(t, err)
	connection, err := api.NewConnection("https://"+address.String(), true, "")
	require.NoError(t, err)
	client, err := api.NewClient(credentials, connection)
	require.NoError(t, err)
	return client
}

func (l *lab) makeTemplate(t *testing.T) {
	t.Helper()
	name := "template"
	require.NoError(t, l.VM(0).CreateVM(t.Context(), &vms.CreateRequestBody{VMID: 9000, Name: &name}))
	require.NoError(t, l.VM(9000).DoRequest(t.Context(), "POST", l.VM(9000).ExpandPath("template"), nil, nil))
}

// clone makes VM 101, as the provider does.
func (l *lab) clone(t *testing.T, attempts int) error {
	t.Helper()
	return l.VM(9000).CloneVM(t.Context(), attempts, &vms.CloneRequestBody{VMIDNew: 101})
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
