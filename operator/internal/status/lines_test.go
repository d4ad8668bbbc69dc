package status_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func TestLines(t *testing.T) {
	t.Parallel()
	r := wellReport().At(remedy.Place{Stack: "--stack k3s-dev"})
	r.Machines[0].VM = "stopped"
	r.Orphans = []status.Orphan{{What: "disk tank:vm-120-disk-0", Host: "vmhost", Remove: "pvesm free tank:vm-120-disk-0"}}
	r = r.WithUnread(fmt.Errorf("the host said:\nhush-hush (%w)", pve.ErrSilent))
	hide := func(text string) string { return strings.ReplaceAll(text, "said:\nhush-hush", "[secret]") }
	require.Equal(t, []status.Line{
		{Label: "VM", Text: "k3s-dev-control-1: it is stopped: `em-infra up --stack k3s-dev` starts it"},
		{Label: "orphan", Text: "disk tank:vm-120-disk-0 → on vmhost, if it is no longer needed: pvesm free tank:vm-120-disk-0"},
		{Label: "not read", Text: "the host [secret] (the host does not answer) → it may be starting: run `em-infra status --stack k3s-dev` again in a minute, and look at its console if it stays away"},
	}, r.Findings(hide))
	facts := r.Facts(hide)
	require.Equal(t, []status.Line{{Label: "versions", Text: "Kubernetes v1.35.4 · Talos v1.12.4"}, {Label: "etcd", Text: "k3s-dev-control-1"}}, facts[:2])
	rows := r.Rows()
	require.Equal(t, "its VM is stopped", rows[0].Lack)
	require.Equal(t, []string{"103 running", "running", "Ready, 2 GPU", ""}, []string{rows[1].VMText, rows[1].TalosText, rows[1].KubernetesText, rows[1].Lack})
	r = r.WithCredentials([]status.Credential{{Kind: status.KindProxmoxToken, Name: "em-infra@pve!operator", Made: at(-3), Ends: at(29), Rotation: "rotate proxmox-token"}, {Kind: status.KindTalosCA, Problem: "not said"}})
	require.Equal(t, []status.CredentialRow{
		{What: "Proxmox token em-infra@pve!operator", Age: "3 days", Ends: "2026-12-20", Rotation: "rotate proxmox-token", Due: true},
		{What: "Talos CA", Age: "unknown", Ends: "unknown"},
	}, []status.CredentialRow{r.CredentialRows()[0], r.CredentialRows()[3]})
}

// TestRowsOfALayer: hosts and systems that are not well say why.
func TestRowsOfALayer(t *testing.T) {
	t.Parallel()
	well, away := status.Host{Name: "pve1", Status: "online"}, status.Host{Name: "pve2", Status: "offline"}
	runs := status.System{Name: "pihole", Type: status.Container, VMID: 211, Host: "pve1", Status: "running"}
	moved := status.System{Name: "tools", Type: status.VirtualMachine, VMID: 210, Host: "pve1", Status: "running", On: "pve2"}
	r := status.Report{Hosts: []status.Host{well, away}, Systems: []status.System{runs, moved}}
	require.Equal(t, []status.HostRow{{Host: well}, {Host: away, Lack: "pve2 is offline"}}, r.HostRows())
	require.Equal(t, []status.SystemRow{{System: runs, Guest: "CT 211 running"}, {System: moved, Guest: "VM 210 running on pve2", Lack: "tools is on pve2"}}, r.SystemRows())
}
