package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoolOperationsNeedAWayToTheHost(t *testing.T) {
	for _, test := range []struct {
		name, endpoint, token, insecure string
		code                            int
		err                             string
	}{
		{
			name: "nothing is set", code: exitRefused,
			err: "EM_INFRA_PROXMOX_ENDPOINT or EM_INFRA_PROXMOX_TOKEN is empty: put the endpoint and the token of Proxmox VE there",
		},
		{
			name: "neither true nor false", endpoint: "https://127.0.0.1:1", token: "em-infra@pve!test=made-up", insecure: "maybe", code: exitRefused,
			err: `EM_INFRA_PROXMOX_INSECURE: "maybe" is neither true nor false: give one of them`,
		},
		{
			name: "no URL", endpoint: "vmhost", token: "em-infra@pve!test=made-up", code: exitFailed,
			err: "the endpoint of Proxmox VE is no URL such as https://vmhost:8006: set it with `pulumi config set --stack STACK em-infra:proxmoxEndpoint URL`",
		},
	} {
		for _, operation := range []string{"ensure", "release"} {
			t.Run(operation+" "+test.name, func(t *testing.T) {
				t.Setenv(proxmoxEndpointVariable, test.endpoint)
				t.Setenv(proxmoxTokenVariable, test.token)
				t.Setenv(proxmoxInsecureVariable, test.insecure)
				command := newRootCommand()
				command.SetArgs([]string{"pool", operation, "k3s-dev"})
				command.SetOut(io.Discard)
				err := command.Execute()
				require.EqualError(t, err, test.err)
				require.Equal(t, test.code, exitCode(err))
			})
		}
	}
}
