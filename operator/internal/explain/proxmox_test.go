package explain_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/operator/internal/explain"
)

// emulated is a host with a template, VM 9000, and a machine, VM 101. Its errors are created by the emulation.
type emulated struct {
	t      *testing.T
	front  *httptest.Server
	token  string
	faults *fault.Set
}

func emulate(t *testing.T, change func(*proxmox.Config)) *emulated {
	t.Helper()
	e := &emulated{t: t, faults: fault.NewSet([32]byte{1}, proxmox.FaultKinds())}
	config := proxmox.Config{
		Hosts: []proxmox.Host{{
			Name: "vmhost", Cores: 8, CPUModel: "AMD EPYC", MemoryMiB: 32 << 10,
			Storages: []proxmox.Storage{
				{Name: "local", Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: 64 << 30, Path: "/var/lib/vz"},
				{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 128 << 30},
			},
			Bridges: []proxmox.Bridge{{Name: "vmbr0", Ports: []string{"eno1"}}},
			PCI: []proxmox.PCIDevice{{
				Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462", SubsystemDevice: "0x3881", IOMMUGroup: 14,
			}},
		}},
		Tokens: []proxmox.Token{{
			ID: "ops@pve!test", Secret: rand.Text(), Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(schema.Release84),
		}},
		Faults: proxmox.NewFaultSet(pace.Pace{}, e.faults),
	}
	if change != nil {
		change(&config)
	}
	e.token = "PVEAPIToken=" + config.Tokens[0].ID + "=" + config.Tokens[0].Secret
	server, err := proxmox.NewServer(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	e.front = httptest.NewTLSServer(server)
	t.Cleanup(e.front.Close)
	return e
}

// machines creates the template and the machine.
func (e *emulated) machines() *emulated {
	e.t.Helper()
	require.Empty(e.t, e.call(http.MethodPost, "/nodes/vmhost/qemu", "vmid=9000&name=talos&template=1&machine=q35&scsi0=file%3Dtank%3A1%2Cformat%3Draw&net0=model%3Dvirtio%2Cbridge%3Dvmbr0"))
	require.Empty(e.t, e.call(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "newid=101&name=cp1&full=1"))
	return e
}

// call makes a call, waits for its task, and returns the error in the provider's form (bpg proxmox/api/errors.go and
// proxmox/nodes/tasks/tasks.go).
func (e *emulated) call(verb, path, params string) string {
	e.t.Helper()
	status, reason, body := e.request(verb, path, params)
	if status != http.StatusOK {
		return fmt.Sprintf("received an HTTP %d response - Reason: %s%s", status, reason, ofParameters(body.Errors))
	}
	var upid string
	if json.Unmarshal(body.Data, &upid) != nil || !strings.HasPrefix(upid, "UPID:") {
		return ""
	}
	var task struct{ Status, ExitStatus string }
	require.Eventually(e.t, func() bool {
		_, _, body := e.request(http.MethodGet, "/nodes/vmhost/tasks/"+url.PathEscape(upid)+"/status", "")
		require.NoError(e.t, json.Unmarshal(body.Data, &task))
		return task.Status == "stopped"
	}, time.Minute, 2*time.Millisecond)
	if task.ExitStatus == "OK" {
		return ""
	}
	return fmt.Sprintf("task %q failed to complete with exit code: %s", upid, task.ExitStatus)
}

type answer struct {
	Data   json.RawMessage   `json:"data"`
	Errors map[string]string `json:"errors"`
}

func (e *emulated) request(verb, path, params string) (status int, reason string, body answer) {
	e.t.Helper()
	target := e.front.URL + "/api2/json" + path
	var form io.Reader = http.NoBody
	if verb == http.MethodGet || verb == http.MethodDelete {
		target += "?" + params
	} else {
		form = strings.NewReader(params)
	}
	request, err := http.NewRequestWithContext(e.t.Context(), verb, target, form)
	require.NoError(e.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", e.token)
	response, err := e.front.Client().Do(request)
	require.NoError(e.t, err)
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		require.NoError(e.t, json.NewDecoder(response.Body).Decode(&body))
	}
	_, reason, _ = strings.Cut(response.Status, " ")
	return response.StatusCode, reason, body
}

func ofParameters(errs map[string]string) string {
	var parts []string
	for key, text := range errs {
		parts = append(parts, key+": "+strings.TrimSpace(text))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, " - ") + ")"
}

func TestErrorsOfTheEmulatedHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		row    string
		change func(*proxmox.Config)
		fault  string
		verb   string
		path   string
		params string
	}{
		{row: "config-lock", fault: "config-lock-timeout", verb: http.MethodPut, path: "/nodes/vmhost/qemu/101/config", params: "cores=2"},
		{row: "storage-lock", fault: "storage-lock-timeout", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1"},
		{row: "zfs-full", fault: "storage-full", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1"},
		{row: "copy-broke", fault: "clone-fails", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1"},
		{row: "vm-gone", fault: "template-missing", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1"},
		{row: "no-worker", fault: "no-worker", verb: http.MethodPost, path: "/nodes/vmhost/qemu/101/status/start"},
		{row: "disk-gone", fault: "disk-gone", verb: http.MethodPost, path: "/nodes/vmhost/qemu/101/status/start"},
		{row: "start-failed", fault: "start-fails", verb: http.MethodPost, path: "/nodes/vmhost/qemu/101/status/start"},
		{row: "unauthorized", fault: "unauthorized", verb: http.MethodGet, path: "/version"},
		{row: "permission", fault: "forbidden", verb: http.MethodGet, path: "/nodes/vmhost/qemu/101/config"},
		{row: "host-away", fault: "unreachable", verb: http.MethodGet, path: "/nodes/vmhost/qemu/101/config"},
		{row: "download-broke", fault: "download-fails", verb: http.MethodPost, path: "/nodes/vmhost/storage/local/download-url", params: "content=iso&filename=talos.iso&url=http%3A%2F%2F127.0.0.1%3A1%2Ftalos.iso"},

		{row: "vmid-taken", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=101&full=1"},
		{row: "vmid-exists", verb: http.MethodPost, path: "/nodes/vmhost/qemu", params: "vmid=101"},
		{row: "vm-gone", verb: http.MethodGet, path: "/nodes/vmhost/qemu/999/config"},
		{row: "disk-shrinks", verb: http.MethodPut, path: "/nodes/vmhost/qemu/101/resize", params: "disk=scsi0&size=512M"},
		{row: "storage-absent", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1&storage=tnak"},
		{row: "no-images", verb: http.MethodPost, path: "/nodes/vmhost/qemu", params: "vmid=102&scsi0=file%3Dlocal%3A1"},
		{row: "no-iso", verb: http.MethodPost, path: "/nodes/vmhost/storage/local/download-url", params: "content=vztmpl&filename=a.tar.gz&url=http%3A%2F%2F127.0.0.1%3A1%2Fa"},
		{row: "factory-unreached", verb: http.MethodGet, path: "/nodes/vmhost/query-url-metadata", params: "url=http%3A%2F%2F127.0.0.1%3A1%2Ftalos.iso"},
		{row: "root-only-device", verb: http.MethodPut, path: "/nodes/vmhost/qemu/101/config", params: "hostpci0=host%3D0000%3A01%3A00.0"},
		{row: "root-only", verb: http.MethodPut, path: "/nodes/vmhost/qemu/101/config", params: "hugepages=2"},
		{row: "pool-absent", verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1&pool=k8s"},
		{row: "no-bridge-use", change: lacking("SDN.Use"), verb: http.MethodPost, path: "/nodes/vmhost/qemu", params: "vmid=102&net0=model%3Dvirtio%2Cbridge%3Dvmbr0"},
		{row: "permission", change: lacking("VM.Clone"), verb: http.MethodPost, path: "/nodes/vmhost/qemu/9000/clone", params: "newid=102&full=1"},
	} {
		name := test.row + " " + test.fault
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := emulate(t, test.change)
			if test.change == nil {
				e.machines()
			}
			if test.fault != "" {
				require.NoError(t, e.faults.Set(fault.Fault{Name: test.fault, Times: 1}))
			}
			requireRow(t, test.row, e.call(test.verb, test.path, test.params))
		})
	}
}

func requireRow(t *testing.T, row, text string) {
	t.Helper()
	found := explain.Text(text)
	require.Len(t, found, 1, "the host said %q", text)
	require.Equal(t, row, found[0].Name, text)
}

// lacking removes a privilege from the token.
func lacking(privilege string) func(*proxmox.Config) {
	return func(c *proxmox.Config) {
		var rest []string
		for _, name := range c.Tokens[0].Privileges {
			if name != privilege {
				rest = append(rest, name)
			}
		}
		c.Tokens[0].Privileges = rest
	}
}

func TestErrorsOfEmulatedDevices(t *testing.T) {
	t.Parallel()
	const entry = "id%3D10de%3A2204%2Cnode%3Dvmhost%2Cpath%3D0000%3A01%3A00.0%2Ciommugroup%3D14%2Csubsystem-id%3D1462%3A3881"
	for _, test := range []struct {
		row, fault, mapping, settings string
		noIOMMU                       bool
	}{
		{row: "device-in-use", fault: "gpu-in-use", mapping: entry, settings: "hostpci0=mapping%3Drtx%2Cpcie%3D1"},
		{row: "mapping-absent", mapping: strings.Replace(entry, "vmhost", "other", 1), settings: "hostpci0=mapping%3Drtx%2Cpcie%3D1"},
		{row: "mapping-stale", mapping: strings.Replace(entry, "group%3D14", "group%3D15", 1), settings: "hostpci0=mapping%3Drtx%2Cpcie%3D1"},
		{row: "mapping-without-iommu", mapping: entry, settings: "hostpci0=mapping%3Drtx%2Cpcie%3D1", noIOMMU: true},
		{row: "no-q35", mapping: entry, settings: "machine=pc&hostpci0=mapping%3Drtx%2Cpcie%3D1"},
	} {
		t.Run(test.row, func(t *testing.T) {
			t.Parallel()
			e := emulate(t, func(c *proxmox.Config) { c.Hosts[0].Setup.IOMMUOff = test.noIOMMU }).machines()
			require.Empty(t, e.call(http.MethodPost, "/cluster/mapping/pci", "id=rtx&map="+test.mapping))
			require.Empty(t, e.call(http.MethodPut, "/nodes/vmhost/qemu/101/config", test.settings))
			if test.fault != "" {
				require.NoError(t, e.faults.Set(fault.Fault{Name: test.fault, Times: 1}))
			}
			requireRow(t, test.row, e.call(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", ""))
		})
	}
}

func TestErrorsOfEmulatedMachinesInUse(t *testing.T) {
	t.Parallel()
	e := emulate(t, nil).machines()
	require.Empty(t, e.call(http.MethodPut, "/nodes/vmhost/qemu/101/config", "protection=1"))
	requireRow(t, "protection", e.call(http.MethodDelete, "/nodes/vmhost/qemu/101", ""))
	require.Empty(t, e.call(http.MethodPut, "/nodes/vmhost/qemu/101/config", "delete=protection"))
	require.Empty(t, e.call(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", ""))
	requireRow(t, "still-running", e.call(http.MethodDelete, "/nodes/vmhost/qemu/101", ""))
}
