package command_test

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
)

func TestToolsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	parse := func(args ...string) (*kubernetes.Tools, error) {
		var flags command.ToolFlags
		c := &cobra.Command{}
		flags.Bind(c)
		require.NoError(t, c.ParseFlags(args))
		return flags.Tools()
	}
	tools := kubernetes.Tools{Kwok: "/b/kwok", ControlPlanes: []kubernetes.ControlPlane{
		{Version: "v1.35.4", Path: "/a=b,c/controlplane"}, {Version: "v1.36.2", Path: "/b/controlplane-1.36"},
	}}
	got, err := parse(command.ToolArgs(tools)...)
	require.NoError(t, err)
	require.Equal(t, &tools, got)

	got, err = parse()
	require.NoError(t, err)
	require.Nil(t, got)

	_, err = parse("--kwok", "kwok", "--controlplane", "/b/controlplane")
	require.EqualError(t, err, `--controlplane: "/b/controlplane" names no release: write VERSION=FILE`)
}
