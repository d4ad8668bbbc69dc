package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[resource.URN][]resource.URN{"urn:pulumi:lab::em-infra::a:b:C::w-1": {"urn:pulumi:lab::em-infra::a:b:C::cp-1", "urn:pulumi:lab::em-infra::pulumi:providers:a::a"}},
		state.Dependencies(apitype.DeploymentV3{Resources: []apitype.ResourceV3{
			{URN: "urn:pulumi:lab::em-infra::a:b:C::cp-1"},
			{
				URN: "urn:pulumi:lab::em-infra::a:b:C::w-1", Provider: "urn:pulumi:lab::em-infra::pulumi:providers:a::a::0f1e",
				Dependencies: []resource.URN{"urn:pulumi:lab::em-infra::a:b:C::cp-1"},
			},
			{URN: "urn:pulumi:lab::em-infra::a:b:C::w-1", Delete: true, Dependencies: []resource.URN{"urn:pulumi:lab::em-infra::a:b:C::cp-1"}},
		}}))
}
