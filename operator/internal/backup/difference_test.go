package backup_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/backup"
)

const (
	typeVM   = "proxmoxve:VM/virtualMachine:VirtualMachine"
	typeNode = "em-infra:index:TalosNode"
)

func state(resources ...apitype.ResourceV3) apitype.DeploymentV3 {
	return apitype.DeploymentV3{Resources: resources}
}

func known(kind tokens.Type, name string) apitype.ResourceV3 {
	return apitype.ResourceV3{URN: resource.NewURN("k3s-dev", "em-infra", "", kind, name), Type: kind, Custom: kind != typeNode}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	provider := known("pulumi:providers:proxmoxve", "proxmox")
	goner := known(typeVM, "worker-9-vm")
	goner.Delete = true
	older := state(provider, known(typeVM, "control-1-vm"), known(typeNode, "worker-1"), known(typeVM, "worker-1-vm"))
	newer := state(known(typeVM, "control-1-vm"), known(typeNode, "worker-2"), known(typeVM, "worker-2-vm"), goner)

	require.Equal(t, backup.Difference{Forgotten: []string{"worker-2-vm"}, Remembered: []string{"worker-1-vm"}}, backup.Compare(newer, older))
	require.Equal(t, backup.Difference{}, backup.Compare(older, older))
	require.Equal(t, backup.Difference{Remembered: []string{"control-1-vm", "worker-1-vm"}}, backup.Compare(state(), older))
}
