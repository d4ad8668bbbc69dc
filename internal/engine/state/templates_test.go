package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

func TestTemplates(t *testing.T) {
	t.Parallel()
	const iso = "local:iso/talos.iso"
	template := of(token.TalosTemplate, "vmhost", properties{"host": "vmhost"}, properties{"iso": iso})
	unfinished := of(token.TalosTemplate, "vmhost2", properties{"host": "vmhost2"}, nil)
	withoutCommand := of(token.TalosTemplate, "vmhost3", properties{"host": "vmhost3"}, properties{"iso": iso})
	require.Equal(t, []state.Template{{Host: "vmhost", ISO: iso, Ensures: urn(token.Command, "iso")}}, state.Templates(deployment(
		template, below(template.URN, replaced(of(token.Command, "old", nil, nil))), below(template.URN, of(token.Command, "iso", nil, nil)),
		unfinished, below(unfinished.URN, of(token.Command, "iso2", nil, nil)), withoutCommand,
	)))
}

func TestHasSchematic(t *testing.T) {
	t.Parallel()
	made := func(id resource.ID) apitype.ResourceV3 {
		r := of(token.Schematic, "home-gpu-1-image-schematic", nil, nil)
		r.ID = id
		return r
	}
	require.True(t, state.HasSchematic(deployment(made("aa")), "home-gpu-1", "aa"))
	require.False(t, state.HasSchematic(deployment(made("aa")), "home-gpu-1", "bb"), "another one is wanted")
	require.False(t, state.HasSchematic(deployment(made("aa")), "home-gpu-2", "aa"), "each worker has its own")
	require.False(t, state.HasSchematic(deployment(replaced(made("aa")), made("bb")), "home-gpu-1", "aa"), "it was replaced")
	require.False(t, state.HasSchematic(deployment(waiting(made("aa"))), "home-gpu-1", "aa"), "it is yet to be made")
}

func TestPoolMaker(t *testing.T) {
	t.Parallel()
	maker := of(token.Command, "pool", properties{"create": "go run tool pool ensure k3s-dev"}, nil)
	for _, test := range []struct {
		name string
		pool string
		is   bool
	}{
		{name: "the pool", pool: "k3s-dev", is: true},
		{name: "another pool", pool: "dev"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, is := state.PoolMaker(deployment(machine("w-1", 102.0), maker), test.pool)
			require.Equal(t, test.is, is)
			if test.is {
				require.Equal(t, maker.URN, found)
			}
		})
	}
	_, is := state.PoolMaker(deployment(replaced(maker)), "k3s-dev")
	require.False(t, is, "the engine has replaced it")
}
