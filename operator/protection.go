package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// CheckUnprotected refuses to destroy a stack with protected resources. The engine would refuse too, but only when it reaches the
// protected resource, and could have deleted others before.
func (d destroyTarget) CheckUnprotected(ctx context.Context) error {
	exported, err := d.state.Seen(ctx)
	if err != nil {
		return err
	}
	protected := protectedNames(exported.Deployment.Resources)
	if len(protected) == 0 {
		return nil
	}
	const enough = 5
	if more := len(protected) - enough; more > 0 {
		protected = append(protected[:enough], fmt.Sprintf("and %d more", more))
	}
	return refused(fmt.Errorf("%s is protected (%s), and nothing was touched: set protect: false in %s, run `em-infra up %s`, then destroy it again",
		d.stack, strings.Join(protected, ", "), strings.Join(d.files, " and in "), d.place.Stack))
}

// protectedNames returns sorted names, because the order of a state depends on the order of the operations.
func protectedNames(resources []apitype.ResourceV3) []string {
	var names []string
	for _, resource := range resources {
		if resource.Protect {
			names = append(names, resource.URN.Name())
		}
	}
	slices.Sort(names)
	return names
}
