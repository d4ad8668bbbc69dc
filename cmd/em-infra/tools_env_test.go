package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func TestPrintToolsEnv(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &workspace.Workspace{Home: "/clone/.pulumi-home", Backend: "file:///clone of mine/.state"}
	tools := &toolchain.Installed{Tools: []toolchain.Tool{{Name: "pulumi", Kind: toolchain.CLI, Path: "/cache/pulumi/bin/pulumi"}}}
	require.NoError(t, printToolsEnv(&out, tools, w))
	require.Equal(t, `export PATH=/cache/pulumi/bin:"$PATH"
export PULUMI_BACKEND_URL='file:///clone of mine/.state'
export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true
export PULUMI_HOME=/clone/.pulumi-home
export PULUMI_IGNORE_AMBIENT_PLUGINS=true
export PULUMI_SKIP_UPDATE_CHECK=true
`, out.String())
	require.EqualError(t, printToolsEnv(&out, &toolchain.Installed{}, w), "the tool chain holds no Pulumi CLI: run `em-infra tools install`")
}
