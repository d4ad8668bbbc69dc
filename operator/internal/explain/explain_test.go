package explain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/explain"
)

func TestEveryRowKnowsItsErrors(t *testing.T) {
	t.Parallel()
	names := explain.Names()
	require.Greater(t, len(names), 40)
	require.Len(t, examples, len(names), "every row has an example, and every example a row")
	for i, name := range names {
		require.NotContains(t, names[:i], name, "a name stands for one row")
		require.NotEmpty(t, examples[name], "row %s has no example", name)
		for _, text := range examples[name] {
			found := explain.Text(text)
			require.Len(t, found, 1, "%s: %s", name, text)
			require.Equal(t, name, found[0].Name, text)
			requireReadable(t, found[0])
		}
	}
}

// requireReadable checks the form of an explanation.
func requireReadable(t *testing.T, e explain.Explanation) {
	t.Helper()
	for _, text := range []string{e.Speaker, e.Said, e.Meaning, e.Do, e.Safe, e.Source} {
		require.NotEmpty(t, text, e.Name)
		require.NotContains(t, text, "\n", e.Name)
		require.NotRegexp(t, `\{[a-z]+\}`, text, "%s: a capture is not filled in", e.Name)
		require.False(t, strings.HasSuffix(text, ".") && text != e.Said, "%s: %q ends with a full stop", e.Name, text)
	}
	require.Regexp(t, `^(yes|no)\b`, e.Safe, e.Name)
	require.Regexp(t, `^(F\d+)?$`, e.Failure, e.Name)
	require.Zero(t, strings.Count(e.Do, "`")%2, "%s: a command is not closed", e.Name)
	for _, command := range e.Commands {
		require.Contains(t, programs, strings.Fields(command)[0], "%s: %q is no command: take its backquotes away", e.Name, command)
	}
}

// programs are those whose commands explanations name.
var programs = []string{
	"em-infra", "go", "ha-manager", "lvs", "pct", "pulumi", "pvecm", "pvesh", "pvesm", "pveum", "qm", "talosctl", "terraform", "zpool",
}

const sample = `Diagnostics:
  proxmoxve:VM/virtualMachine:VirtualMachine (k3s-dev-worker-1):
    error:   sdk-v2/provider2.go:520: sdk.helper_schema: error updating VM: received an HTTP 500 response - Reason: can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout: provider=proxmox@6.18.1
    error: 1 error occurred:
    	* error updating VM: received an HTTP 500 response - Reason: can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout
`

func TestTheErrorOfTheSample(t *testing.T) {
	t.Parallel()
	found := explain.Text(sample)
	require.Len(t, found, 1)
	e := found[0]
	require.Equal(t, "config-lock", e.Name)
	require.Equal(t, "k3s-dev-worker-1", e.Subject)
	require.Equal(t, "Proxmox", e.Speaker)
	require.Equal(t, "F18", e.Failure)
	printed, err := json.Marshal(e)
	require.NoError(t, err)
	require.NotContains(t, string(printed), "F18")
	require.Equal(t, "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout", e.Said)
	require.Equal(t, "another task holds VM 102, or held it when the host went down", e.Meaning)
	require.Equal(t, "`qm unlock 102` on its host if no task is running there (`pvesh get /nodes/HOST/tasks --source active`), then run `em-infra up` again", e.Do)
	require.Equal(t, "yes: nothing was left half done; up goes on from here", e.Safe)
	require.Equal(t, []string{"qm unlock 102", "pvesh get /nodes/HOST/tasks --source active", "em-infra up"}, e.Commands)
	require.Equal(t, "qemu-server, pve-guest-common AbstractConfig.pm, lock_config", e.Source)

	destroyed := e.For("destroy").At(remedy.Place{Stack: "--stack home --lab", Lab: "--stack home"})
	require.Equal(t, "`em-infra lab unlock 102 --stack home` if no task is running there (`em-infra task list --stack home --lab`), then run `em-infra destroy --stack home --lab` again", destroyed.Do)
	require.Equal(t, "yes: nothing was left half done; destroy goes on from here", destroyed.Safe)
	require.Equal(t, []string{"em-infra lab unlock 102 --stack home", "em-infra task list --stack home --lab", "em-infra destroy --stack home --lab"}, destroyed.Commands)

}

// TestAQuotedTimeIsNoMore: gRPC quotes the error of a handshake, and the text from the quote on is no part of the time.
func TestAQuotedTimeIsNoMore(t *testing.T) {
	t.Parallel()
	found := explain.Text(`authentication handshake failed: x509: certificate has expired or is not yet valid: current time 2026-11-22T12:12:24Z is after 2026-11-21T12:12:22Z"): no answer`)
	require.Len(t, found, 1)
	require.Equal(t, "a certificate holds to or from 2026-11-21T12:12:22Z, and the clock that looked says 2026-11-22T12:12:24Z", found[0].Meaning)
}

func TestSeveralErrorsInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	found := explain.Text(`  proxmoxve:Download/file:File (template-iso):
    error: invalid server response: '404 Not Found'

  pulumi:pulumi:Stack (em-infra-k3s-dev):
    error: update failed

  proxmoxve:VM/virtualMachine:VirtualMachine (k3s-dev-worker-2):
    error: VM is locked (backup)
`)
	require.Len(t, found, 2)
	require.Equal(t, "image-absent", found[0].Name)
	require.Equal(t, "template-iso", found[0].Subject)
	require.Equal(t, "vm-locked", found[1].Name)
	require.Equal(t, "k3s-dev-worker-2", found[1].Subject)
}

// During the run the engine prints an error without a heading with the resource's name.
func TestTheSubjectOfAnErrorThatIsSaidTwice(t *testing.T) {
	t.Parallel()
	found := explain.Text(` +  proxmoxve:VM:VirtualMachine k3s-dev-template-vmhost-vm creating (0s) error: zfs error: cannot create 'tank/vm-9000-disk-0': out of space
Diagnostics:
  proxmoxve:VM:VirtualMachine (k3s-dev-template-vmhost-vm):
    error: unable to create VM 9000 - zfs error: cannot create 'tank/vm-9000-disk-0': out of space
`)
	require.Len(t, found, 1)
	require.Equal(t, "k3s-dev-template-vmhost-vm", found[0].Subject)
}

// TestTrueNASIsNoHost: the same words of ZFS are explained for a host, and not where em-infra's own client of TrueNAS says what to do.
func TestTrueNASIsNoHost(t *testing.T) {
	t.Parallel()
	const busy = "cannot destroy 'tank/k8s': dataset is busy"
	require.Len(t, explain.Text(busy), 1)
	require.Empty(t, explain.Text("TrueNAS, pool.dataset.delete: Failed to delete dataset: "+busy+": something uses it: end its NFS clients"))
}

func TestWhatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "error: update failed", "a sentence about clones and locks"} {
		require.Empty(t, explain.Text(text), text)
	}
}

// FuzzText checks that explanations are complete for any text.
func FuzzText(f *testing.F) {
	for _, texts := range examples {
		f.Add(strings.Join(texts, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range explain.Text(text) {
			require.True(t, slices.Contains(explain.Names(), e.Name))
			require.Contains(t, text, e.Said)
		}
	})
}
