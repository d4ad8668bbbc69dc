package pve_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// answering returns a host that gives every request the same answer.
func answering(t *testing.T, status int, body string) pve.Reader {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	reader, err := pve.NewReader(tokenAt(server))
	require.NoError(t, err)
	return reader
}

// tokenAt returns a connection to a host that does not look at the token.
func tokenAt(server *httptest.Server) pve.Connection {
	return pve.Connection{Endpoint: server.URL, Token: tokenID + "=" + rand.Text(), Insecure: true}
}

// TestAReaderHearsEveryRefusal checks that an answer without data is an error, regardless of what the library makes of it: for a host that another
// one cannot reach, the status is 596.
func TestAReaderHearsEveryRefusal(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusUnauthorized:        "the token may not read it",
		http.StatusForbidden:           "the token may not read it",
		http.StatusNotFound:            "404 Not Found",
		http.StatusInternalServerError: "Internal Server Error",
		http.StatusBadRequest:          `bad request: 400 Bad Request - {"node":"no such cluster node 'x'"}`,
		596:                            "596 status code 596",
	} {
		reader := answering(t, status, `{"data":null,"errors":{"node":"no such cluster node 'x'"}}`)
		_, err := reader.Storages(t.Context(), "x")
		require.EqualError(t, err, want, status)
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	answers := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(answers.Close)
	require.NoError(t, reader.Reaches(t.Context(), node, answers.URL), "an answer of failure is an answer")
	require.EqualError(t, reader.Reaches(t.Context(), node, "http://"+loopbacktest.Refused(t)), "connection refused")
}

// Proxmox VE writes numbers as text in some places, and flags in every way.
func TestBridges(t *testing.T) {
	t.Parallel()
	reader := answering(t, http.StatusOK, `{"data":[{"iface":"vmbr0","type":"bridge","mtu":"9000","bridge_vlan_aware":1,"bridge_ports":"eno1"},
		{"iface":"vmbr1","type":"bridge","mtu":1400,"bridge_vlan_aware":"0"},{"iface":"k8s","type":"vnet"}]}`)
	bridges, err := reader.Bridges(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, []pve.Bridge{
		{Name: "vmbr0", Type: "bridge", VLANAware: true, Ports: "eno1", MTU: "9000"},
		{Name: "vmbr1", Type: "bridge", MTU: "1400"},
		{Name: "k8s", Type: "vnet"},
	}, bridges)
}

func TestGuestConfigIsText(t *testing.T) {
	t.Parallel()
	reader := answering(t, http.StatusOK, `{"data":{"memory":"8192","cores":4,"balloon":0,"net0":"virtio=BC:24:11:00:00:01,bridge=vmbr0"}}`)
	config, err := reader.GuestConfig(t.Context(), pve.Guest{Type: "qemu", Node: node, VMID: vmid})
	require.NoError(t, err)
	require.Equal(t, pve.GuestConfig{"memory": "8192", "cores": "4", "balloon": "0", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}, config)
}

// TestVolumesOfDrives: a disk, an ISO, and what is neither.
func TestVolumesOfDrives(t *testing.T) {
	t.Parallel()
	config := pve.GuestConfig{
		"scsi0": "tank:vm-210-disk-0,size=16G", "efidisk0": "file=tank:vm-210-disk-1,size=4M", "scsi1": "/dev/sdb,size=1T", "unused0": "tank:vm-210-disk-2",
		"ide0": "none,media=cdrom", "ide1": "tank:vm-210-cloudinit,media=cdrom", "ide2": "local:iso/debian.iso,media=cdrom,size=700M", "ide3": "cdrom,media=cdrom",
		"sata0": "media=cdrom", "sata1": "file=nas:iso/opnsense.iso,media=cdrom", "description": "local:iso/none.iso,media=cdrom",
	}
	require.Equal(t, map[string]string{"scsi0": "tank:vm-210-disk-0", "efidisk0": "tank:vm-210-disk-1"}, config.Disks())
	require.Equal(t, map[string]string{"ide2": "local:iso/debian.iso", "sata1": "nas:iso/opnsense.iso"}, config.ISOs())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pve.Flag{`1`: true, `"1"`: true, `true`: true, `0`: false, `"0"`: false, `false`: false, `null`: false, `""`: false} {
		var flag pve.Flag
		require.NoError(t, json.Unmarshal([]byte(text), &flag), text)
		require.Equal(t, want, flag, text)
	}
	var flag pve.Flag
	require.EqualError(t, json.Unmarshal([]byte(`"maybe"`), &flag), "maybe is neither 1 nor 0")
}

func TestRolesThatStandAndDoNot(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	privileges, found, err := reader.RolePrivileges(t.Context(), "PVETemplateUser")
	require.NoError(t, err)
	require.True(t, found)
	require.ElementsMatch(t, []string{"VM.Audit", "VM.Clone"}, privileges)
	_, found, err = reader.RolePrivileges(t.Context(), "Nobody")
	require.NoError(t, err)
	require.False(t, found)
}

// TestATokenReadsItsEnd: the privileges of the role are enough to read it, and to read the end of its user.
func TestATokenReadsItsEnd(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	reader, err := pve.NewReader(e.connection)
	require.NoError(t, err)
	end, err := reader.TokenEnd(t.Context(), tokenID)
	require.NoError(t, err)
	require.Zero(t, end)
	_, err = reader.TokenEnd(t.Context(), tokenID+"x")
	require.ErrorIs(t, err, pve.ErrForbidden)
}

// TestFactsAboutPassthrough checks what a host reports about passthrough: fields of its status, some of which older releases lack, and two outputs of
// its report.
func TestFactsAboutPassthrough(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status string
		want   passthrough.Facts
	}{
		{
			`{"boot-info":{"mode":"efi","secureboot":1},"current-kernel":{"release":"6.17.2-1-pve"},"cpuinfo":{"model":"Some CPU","vendor":"GenuineIntel"}}`,
			passthrough.Facts{Processor: passthrough.Intel, Kernel: "6.17.2-1-pve", SecureBoot: true},
		},
		{
			`{"boot-info":{"mode":"legacy-bios"},"current-kernel":{"release":"6.8.12-9-pve"},"cpuinfo":{"model":"AMD EPYC 4244P"}}`,
			passthrough.Facts{Processor: passthrough.AMD, Kernel: "6.8.12-9-pve", LegacyBIOS: true},
		},
		{`{}`, passthrough.Facts{}},
	} {
		for _, report := range []int{http.StatusOK, 596} {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api2/json/nodes/vmhost/report" {
					_, _ = io.WriteString(w, `{"data":`+test.status+`}`)
					return
				}
				w.WriteHeader(report)
				_, _ = io.WriteString(w, `{"data":"\n# cat /proc/cmdline\nroot=/dev/sda1 ro\n\n# pvesubscription get\nkey: not kept\n"}`)
			}))
			t.Cleanup(server.Close)
			facts, err := tokenAt(server).Passthrough(t.Context(), "vmhost")
			require.NoError(t, err)
			want := test.want
			if report == http.StatusOK {
				want.Report.CommandLine = []string{"root=/dev/sda1", "ro"}
			} else {
				require.EqualError(t, facts.ReportErr, "596 status code 596")
				facts.ReportErr = nil
			}
			require.Equal(t, want, facts)
		}
	}
	forbidding := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(forbidding.Close)
	_, err := tokenAt(forbidding).Passthrough(t.Context(), "vmhost")
	require.ErrorIs(t, err, pve.ErrForbidden)
	_, err = pve.Connection{Endpoint: forbidding.URL}.Passthrough(t.Context(), "vmhost")
	require.ErrorIs(t, err, pve.ErrToken)
}

// TestAReportIsWaitedFor checks that the wait for a report is longer than that of pveproxy, so that pveproxy's answer is the reason and not the time
// limit, and that a report that does not come is no error of the rest.
func TestAReportIsWaitedFor(t *testing.T) {
	t.Parallel()
	require.Greater(t, pve.ReportTimeout, 30*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/report") {
			cancel()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"data":{"current-kernel":{"release":"6.14.8-2-pve"}}}`)
	}))
	t.Cleanup(server.Close)
	facts, err := tokenAt(server).Passthrough(ctx, "vmhost")
	require.NoError(t, err)
	require.Equal(t, "6.14.8-2-pve", facts.Kernel)
	require.EqualError(t, facts.ReportErr, "context canceled")
}

// A package that may be missing is listed only if it is installed, or was.
func TestPackages(t *testing.T) {
	t.Parallel()
	reader := answering(t, http.StatusOK, `{"data":[{"Package":"pve-manager","CurrentState":"Installed"},{"Package":"ifupdown","CurrentState":"ConfigFiles"}]}`)
	for name, want := range map[string]bool{"pve-manager": true, "ifupdown": false, "ifupdown2": false} {
		has, err := reader.HasPackage(t.Context(), "vmhost", name)
		require.NoError(t, err)
		require.Equal(t, want, has, name)
	}
	_, err := answering(t, http.StatusForbidden, `{"data":null}`).HasPackage(t.Context(), "vmhost", "ifupdown2")
	require.ErrorIs(t, err, pve.ErrForbidden)
}
