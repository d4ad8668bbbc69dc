package proxmox_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	operator = "terraform@pve!em-infra"
	node     = "vmhost"
)

// gpuDevice is a device of the test's host.
var gpuDevice = proxmox.PCIDevice{
	Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1458",
	SubsystemDevice: "0x403b", VendorName: "NVIDIA Corporation", DeviceName: "GA102 [GeForce RTX 3090]", IOMMUGroup: 12,
}

// testConfig returns a host with a folder and a ZFS pool, and a second one that shares an NFS storage with it.
func testConfig() proxmox.Config {
	nfs := proxmox.Storage{
		Name: "nas", Type: storage.NFS, Content: []string{storage.ISO, storage.Images}, TotalBytes: 4 << 40, Shared: true,
		Path: "/mnt/pve/nas",
	}

	return proxmox.Config{
		Hosts: []proxmox.Host{
			{
				Name: node, Cores: 16, CPUModel: "AMD EPYC", MemoryMiB: 64 << 10,
				Storages: []proxmox.Storage{
					{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 64 << 30, Path: "/var/lib/vz"},
					{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 512 << 30},
					{Name: "thin", Type: storage.LVMThin, Content: []string{storage.Images}, TotalBytes: 512 << 30},
					nfs,
				},
				Bridges: []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true}},
				PCI:     []proxmox.PCIDevice{gpuDevice},
			},
			{
				Name: "vmhost2", Cores: 8, CPUModel: "AMD EPYC", MemoryMiB: 32 << 10,
				Storages: []proxmox.Storage{
					{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 64 << 30, Path: "/var/lib/vz"},
					nfs,
				},
				Bridges: []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}}},
			},
		},
	}
}

// lab is a running server with a token of the operator's role.
type lab struct {
	t      testing.TB
	server *proxmox.Server
	base   string
	token  string
	http   *http.Client
}

// newLab starts a server; change may alter its configuration first.
func newLab(t testing.TB, change func(*proxmox.Config)) *lab {
	t.Helper()

	config := testConfig()
	secret := rand.Text()
	config.Tokens = []proxmox.Token{{
		ID: operator, Secret: secret, Role: proxmox.OperatorRole,
		Privileges: proxmox.OperatorPrivileges(schema.Release84),
	}}

	if change != nil {
		change(&config)
	}

	return startLab(t, config, operator+"="+secret)
}

func startLab(t testing.TB, config proxmox.Config, token string) *lab {
	t.Helper()

	server, err := proxmox.NewServer(config)
	require.NoError(t, err)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)

	certificate, pool := newCertificate(t)

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

	return &lab{
		t: t, server: server, base: "https://" + listener.Addr().String(), token: token,
		http: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}},
		},
	}
}

// reply is a response as a client sees it.
type reply struct {
	// Status is the complete status line after the protocol, such as "400 Parameter verification failed.".
	Status string
	Header http.Header
	// Closed reports whether the server closed the connection after the response.
	Closed  bool
	Data    json.RawMessage   `json:"data"`
	Message string            `json:"message"`
	Errors  map[string]string `json:"errors"`
	Total   int               `json:"total"`
	Raw     string
}

// do sends a request, with the parameters in the query or the form, depending on the method.
func (l *lab) do(verb, path string, params url.Values) reply {
	l.t.Helper()

	r, err := l.try(context.Background(), l.token, verb, path, params)
	require.NoError(l.t, err)

	return r
}

func (l *lab) try(ctx context.Context, token, verb, path string, params url.Values) (reply, error) {
	target := l.base + "/api2/json" + path

	var body io.Reader

	switch {
	case len(params) == 0:
	case verb == http.MethodPost || verb == http.MethodPut:
		body = strings.NewReader(params.Encode())
	default:
		target += "?" + params.Encode()
	}

	request, err := http.NewRequestWithContext(ctx, verb, target, body)
	if err != nil {
		return reply{}, err
	}

	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}

	if token != "" {
		request.Header.Set("Authorization", "PVEAPIToken="+token)
	}

	response, err := l.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()

	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}

	r := reply{Status: response.Status, Header: response.Header, Closed: response.Close, Raw: string(raw)}
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &r)
	}

	return r, err
}

// ok sends a request that must succeed and decodes its data.
func (l *lab) ok(verb, path string, params url.Values, into any) {
	l.t.Helper()

	r := l.do(verb, path, params)
	require.Equal(l.t, "200 OK", r.Status, r.Raw)

	if into != nil {
		require.NoError(l.t, json.Unmarshal(r.Data, into))
	}
}

// taskState is a task's status.
type taskState struct {
	Status, ExitStatus, Type, ID, User string
	TokenID                            string `json:"tokenid"`
}

// task sends a request that starts a worker, waits for its end and returns its exit status.
func (l *lab) task(verb, path string, params url.Values) string {
	l.t.Helper()

	var upid string

	l.ok(verb, path, params, &upid)

	return l.wait(upid).ExitStatus
}

// wait polls a task until it has ended.
func (l *lab) wait(upid string) taskState {
	l.t.Helper()

	var state taskState

	polltest.Until(l.t, func() bool {
		l.ok(http.MethodGet, "/nodes/"+strings.Split(upid, ":")[1]+"/tasks/"+url.PathEscape(upid)+"/status", nil, &state)
		return state.Status == "stopped"
	})

	return state
}

// must is task for workers that must succeed.
func (l *lab) must(verb, path string, params url.Values) {
	l.t.Helper()
	require.Equal(l.t, "OK", l.task(verb, path, params))
}

// values parses parameters in one line: "vmid=101 name=a".
func values(text string) url.Values {
	v := url.Values{}

	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		v.Add(name, value)
	}

	return v
}

// template creates VM 9000, a template with a blank disk on tank.
func (l *lab) template() {
	l.t.Helper()
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=9000 name=talos template=1 machine=q35 "+
		"scsihw=virtio-scsi-single scsi0=file=tank:8,format=raw,iothread=1 net0=model=virtio,bridge=vmbr0,firewall=0"))
}

// config reads a VM's configuration.
func (l *lab) config(vmid string) map[string]any {
	l.t.Helper()

	var c map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/qemu/"+vmid+"/config", nil, &c)

	return c
}

func stateFile(t testing.TB) string { return filepath.Join(t.TempDir(), "host.json") }
