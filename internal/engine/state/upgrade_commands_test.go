package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
)

func TestUpgradesInTheTextsOfCommands(t *testing.T) {
	t.Parallel()
	const tool = "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra}"
	for text, want := range map[string][2]string{
		tool + " node upgrade --name cp-1 --address 192.168.20.11 --image factory.example/nocloud-installer/0:v1.12.11 --control-plane": {"factory.example/nocloud-installer/0:v1.12.11", ""},
		state.KubernetesUpdate("v1.36.1"):                 {"", "v1.36.1"},
		"true kubernetes v1.36.1":                         {"", "v1.36.1"},
		tool + " cluster upgrade-kubernetes --to v1.36.1": {"", ""},
		tool + " node remove --name cp-1 --image x":       {"", ""},
		tool + " node upgrade --image":                    {"", ""},
		"true":                                            {"", ""},
		"":                                                {"", ""},
	} {
		require.Equal(t, want[0], state.UpgradeImage(text), text)
		require.Equal(t, want[1], state.KubernetesOf(text), text)
	}
}
