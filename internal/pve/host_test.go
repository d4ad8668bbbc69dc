package pve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	goproxmox "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/pve"
)

const (
	tokenID    = "em-infra@pve!test"
	node       = "vmhost"
	templateID = 9000
	vmid       = 102
	name       = "k3s-dev-worker-1"
)

// clock is a host's clock that a test can advance.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// emulated is a host with a template, to be worked on by the operator's token.
type emulated struct {
	t          *testing.T
	server     *proxmox.Server
	connection pve.Connection
	clock      *clock
}

// hostConfig describes the host; its token's secret is made up.
func hostConfig(t *testing.T, hostClock *clock) proxmox.Config {
	t.Helper()
	return proxmox.Config{
		Hosts: []proxmox.Host{{
			Name: node, Cores: 8, CPUModel: "AMD EPYC", MemoryMiB: 32 << 10,
			Storages: []proxmox.Storage{{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 512 << 30}},
			Bridges:  []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}}},
		}},
		Tokens: []proxmox.Token{{
			ID: tokenID, Secret: rand.Text(), Role: proxmox.OperatorRole,
			Privileges: proxmox.OperatorPrivileges(schema.Release84),
		}},
		StateFile: filepath.Join(t.TempDir(), "host.json"),
		Now:       hostClock.Now,
	}
}

// newHost starts a host; change may alter its configuration first.
func newHost(t *testing.T, change func(*proxmox.Config)) *emulated {
	t.Helper()
	hostClock := newClock()
	config := hostConfig(t, hostClock)
	if change != nil {
		change(&config)
	}
	e := serve(t, config, hostClock)
	e.must(http.MethodPost, "/qemu", url.Values{
		"vmid": {fmt.Sprint(templateID)}, "name": {"talos"}, "template": {"1"}, "machine": {"q35"},
		"scsihw": {"virtio-scsi-single"}, "scsi0": {"file=tank:1,format=raw"}, "net0": {"model=virtio,bridge=vmbr0"},
	})
	return e
}

// newHostFor starts a host without a machine, whose token has these privileges.
func newHostFor(t *testing.T, privileges ...string) *emulated {
	t.Helper()
	hostClock := newClock()
	config := hostConfig(t, hostClock)
	config.Tokens[0].Privileges = privileges
	return serve(t, config, hostClock)
}

func serve(t *testing.T, config proxmox.Config, hostClock *clock) *emulated {
	t.Helper()
	server, err := proxmox.NewServer(config)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	certificate := selfSigned(t)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener, certificate) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, <-served)
	})
	return &emulated{t: t, server: server, clock: hostClock, connection: pve.Connection{
		Endpoint: "https://" + listener.Addr().String(), Token: tokenID + "=" + config.Tokens[0].Secret, Insecure: true,
	}}
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// host returns what is tested; a lock counts as left behind after the given time.
func (e *emulated) host(patience time.Duration) pve.Host {
	e.t.Helper()
	host, err := pve.NewHost(e.connection)
	require.NoError(e.t, err)
	return pve.Impatient(host, patience)
}

// begin asks the host for a task and returns its name.
func (e *emulated) begin(verb, path string, params url.Values) (upid string) {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	body := map[string]string{}
	for key := range params {
		body[key] = params.Get(key)
	}
	path = "/nodes/" + node + path
	switch verb {
	case http.MethodPost:
		err = client.Post(e.t.Context(), path, body, &upid)
	case http.MethodPut:
		err = client.Put(e.t.Context(), path, body, &upid)
	case http.MethodDelete:
		err = client.Delete(e.t.Context(), path, &upid)
	}
	require.NoError(e.t, err)
	require.True(e.t, strings.HasPrefix(upid, "UPID:"), upid)
	return upid
}

// must begins a task and waits for its good end. The host's clock goes on by a minute.
func (e *emulated) must(verb, path string, params url.Values) {
	e.t.Helper()
	e.mustNow(verb, path, params)
	e.clock.advance(time.Minute)
}

func (e *emulated) mustNow(verb, path string, params url.Values) {
	e.t.Helper()
	upid := e.begin(verb, path, params)
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	var task struct{ Status, ExitStatus string }
	polltest.Until(e.t, func() bool {
		err = client.Get(context.Background(), "/nodes/"+node+"/tasks/"+url.PathEscape(upid)+"/status", &task)
		return err != nil || task.Status == "stopped"
	})
	require.NoError(e.t, err)
	require.Equal(e.t, "OK", task.ExitStatus)
}

// waitForLock waits until the clone that was begun has its machine.
func (e *emulated) waitForLock() {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	polltest.Until(e.t, func() bool {
		var status struct{ Lock string }
		err := client.Get(e.t.Context(), "/nodes/"+node+vmPath("/status/current"), &status)
		return err == nil && status.Lock == "clone"
	})
}

var cloneParams = url.Values{"newid": {fmt.Sprint(vmid)}, "name": {name}, "full": {"1"}}

func clonePath() string { return fmt.Sprintf("/qemu/%d/clone", templateID) }
func vmPath(rest string) string {
	return fmt.Sprintf("/qemu/%d%s", vmid, rest)
}
func (e *emulated) clone() { e.t.Helper(); e.must(http.MethodPost, clonePath(), cloneParams) }
func (e *emulated) start() { e.t.Helper(); e.must(http.MethodPost, vmPath("/status/start"), nil) }
func (e *emulated) stop()  { e.t.Helper(); e.must(http.MethodPost, vmPath("/status/stop"), nil) }
func (e *emulated) destroy() {
	e.t.Helper()
	e.must(http.MethodDelete, vmPath(""), nil)
}

// runFor has the machine run for a while.
func (e *emulated) runFor(d time.Duration) {
	e.t.Helper()
	e.start()
	e.clock.advance(d)
	e.stop()
}

// fillTheTaskLists fills both of the node's lists of tasks with tasks of another guest, while the host's clock stands still.
func (e *emulated) fillTheTaskLists() {
	e.t.Helper()
	e.mustNow(http.MethodPost, "/qemu", url.Values{"vmid": {"999"}})
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	const tasks, bytes = 2 * 50_000, 70 // of a line, at least
	for range tasks/bytes + 2 {
		var upid string
		require.NoError(e.t, client.Post(e.t.Context(), "/nodes/"+node+"/qemu/999/status/stop", nil, &upid))
		for status := ""; status != "stopped"; {
			var task struct{ Status string }
			require.NoError(e.t, client.Get(e.t.Context(), "/nodes/"+node+"/tasks/"+url.PathEscape(upid)+"/status", &task))
			status = task.Status
		}
	}
	host, err := client.Node(e.t.Context(), node)
	require.NoError(e.t, err)
	listed, err := host.Tasks(e.t.Context(), &goproxmox.NodeTasksOptions{VMID: vmid, Source: "all"})
	require.NoError(e.t, err)
	require.Empty(e.t, listed, "the node remembers nothing of the machine")
}
