package lab_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	emulator "github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func TestWritesInACallLog(t *testing.T) {
	t.Parallel()
	site := operator.Site{Stack: "k3s-dev", Dir: t.TempDir()}
	writes, err := lab.Local{}.Writes(site)
	require.NoError(t, err)
	require.Empty(t, writes, "there was no lab yet")
	require.NoError(t, os.WriteFile(emulator.HostCalls(site.Dir), []byte(`{"method":"GET","path":"/version"}
{"method":"POST","path":"/nodes/vmhost/qemu"}
{"note":"state not saved","error":"disk full"}
{"method":"DELETE","path":"/nodes/vmhost/qemu/101"}
{"method":"PUT","pa`), 0o600))
	writes, err = lab.Local{}.Writes(site)
	require.NoError(t, err)
	require.Equal(t, []string{"POST /nodes/vmhost/qemu", "DELETE /nodes/vmhost/qemu/101"}, writes)
}

// TestALabThatDoesNotRunIsRefused: without a path of em-infra no lab can be started.
func TestALabThatDoesNotRunIsRefused(t *testing.T) {
	t.Parallel()
	site := operator.Site{Stack: "k3s-dev", Dir: t.TempDir()}
	host, found, err := lab.Local{}.Find(site)
	require.NoError(t, err)
	require.False(t, found)
	require.Empty(t, host)
	_, err = lab.Local{}.Start(t.Context(), site)
	require.EqualError(t, err, "there is no lab of k3s-dev yet: start one with `em-infra lab start --stack k3s-dev`")
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.NoError(t, lab.Local{}.Stop(t.Context(), site), "nothing runs")

	_, err = lab.Local{Choices: lab.Choices{Release: "7.4"}}.Start(t.Context(), site)
	require.EqualError(t, err, "--pve: proxmox ve 7.4 is not emulated: choose one of 8.4, 9.1")
	require.ErrorAs(t, err, new(*operator.RefusedError))
}
