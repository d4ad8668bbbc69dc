package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const lockError = "can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout"

const lockExplained = `  Proxmox:       can't lock file '/var/lock/qemu-server/lock-102.conf' - got timeout
  meaning        another task holds VM 102, or held it when the host went down
  do             ` + "`qm unlock 102`" + ` on its host if no task is running there (` + "`pvesh get /nodes/HOST/tasks --source active`" + `), then run ` + "`em-infra up` again" + `
  safe           yes: nothing was left half done; up goes on from here
`

const (
	unknown = "nothing is known about that for certain\n"

	whereToLook = `  docs/errors.md: every error that is known
  docs/failures.md: what this project is built against
  ` + "`em-infra preflight`" + `: whether the host can bear the inventory
  ` + "`em-infra status`" + `: what stands, and what of it is not well
  ` + "`em-infra rehearse`" + `: whether the same inventory comes up on a lab, which has no host of yours
`

	nothingNear = `not known, and no error that is known is near

where to look
` + whereToLook

	nearFull = `not known; a guess, which may be wrong: the nearest error that is known is
  zfs-full, of Proxmox: 4 of its 6 words are in the text
  text           zfs error: cannot create 'tank/x': no such pool 'tank'
  in common      zfs, error, cannot, create
  it would mean  the pool has no room for VOLUME
  then do        free space (zfs list -o space), or set diskStorage or diskGiB, then run ` + "`em-infra up`" + ` again
  safe           yes: nothing was left half done; up goes on from here

where to look
  journalctl -b -p warning on the host, and the task's log in Proxmox VE: what the host did
` + whereToLook
)

func TestExplainAnArgument(t *testing.T) {
	t.Parallel()
	require.Equal(t, outcome{out: lockExplained}, em(t.Context(), "explain", lockError))
	require.Equal(t, outcome{out: lockExplained}, em(t.Context(), append([]string{"explain"}, strings.Fields(lockError)...)...), "without quotes")
}

func TestExplainWhatIsPasted(t *testing.T) {
	t.Parallel()
	pasted := "Diagnostics:\n  proxmoxve:VM/virtualMachine:VirtualMachine (k3s-dev-worker-1):\n    error: " + lockError + "\n"
	for name, test := range map[string]struct {
		args []string
		in   string
		out  string
		err  string
		code int
	}{
		"known":            {nil, pasted, "k3s-dev-worker-1\n" + lockExplained, "", exitOK},
		"unknown":          {nil, "error: update failed\n", nothingNear, unknown, exitFailed},
		"nearly known":     {nil, "zfs error: cannot create 'tank/x': no such pool 'tank'\n", nearFull, unknown, exitFailed},
		"nothing":          {nil, " \n", "", "there is no error to explain: give it as an argument, or paste it\n", exitRefused},
		"unknown, as JSON": {[]string{"--output", "json"}, "error: update failed\n", "[]\n", nothingNear + unknown, exitFailed},
		"another format":   {[]string{"--output", "yaml"}, pasted, "", "--output: \"yaml\" is no format: choose text or json\n", exitRefused},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), streams{in: strings.NewReader(test.in), out: &out, err: &errs}, append([]string{"explain"}, test.args...))
		require.Equal(t, test.code, code, name)
		require.Equal(t, test.out, out.String(), name)
		require.Equal(t, test.err, errs.String(), name)
	}
}

func TestExplainJSON(t *testing.T) {
	t.Parallel()
	result := em(t.Context(), "explain", "--output", "json", "received an HTTP 500 response - Reason: storage 'tnak' does not exist")
	require.Equal(t, exitOK, result.code)
	require.JSONEq(t, `[{
		"name": "storage-absent", "speaker": "Proxmox", "said": "storage 'tnak' does not exist", "meaning": "Proxmox VE has no storage tnak",
		"do": "correct isoStorage or diskStorage in the inventory (`+"`pvesm status`"+` lists what there is), then run `+"`em-infra up`"+` again",
		"safe": "yes: nothing was left half done; up goes on from here", "source": "pve-storage Storage.pm, storage_config",
		"commands": ["pvesm status", "em-infra up"]
	}]`, result.out)
}
