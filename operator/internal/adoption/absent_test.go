package adoption_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/adoption"
)

func TestWithout(t *testing.T) {
	t.Parallel()
	const template, machine, configuration, membership, other = resource.URN("template"), resource.URN("machine"), resource.URN("configuration"), resource.URN("membership"), resource.URN("other")
	deployment := apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: template},
		{URN: machine, Dependencies: []resource.URN{template}},
		{URN: configuration, Dependencies: []resource.URN{machine}, ReplaceWith: []resource.URN{machine}, DeletedWith: machine},
		{URN: membership, Dependencies: []resource.URN{configuration}, ReplaceWith: []resource.URN{machine}},
		{
			URN: other, Dependencies: []resource.URN{template, membership},
			PropertyDependencies: map[resource.PropertyKey][]resource.URN{"first": {membership}},
		},
	}}
	adoption.Without(&deployment, []resource.URN{machine})
	require.Equal(t, []apitype.ResourceV3{
		{URN: template},
		{
			URN: other, Dependencies: []resource.URN{template},
			PropertyDependencies: map[resource.PropertyKey][]resource.URN{"first": {}},
		},
	}, deployment.Resources)
}
