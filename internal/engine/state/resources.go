// Package state answers questions about the deployment in a stack's state: which machines, configurations and secrets it contains,
// and whose they are. It changes nothing and decides nothing. Pure.
package state

import (
	"iter"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// Every yields all resources of a type, in the order of the state, including those that the engine has still to delete.
func Every(deployment apitype.DeploymentV3, kind tokens.Type) iter.Seq[*apitype.ResourceV3] {
	return func(yield func(*apitype.ResourceV3) bool) {
		for i := range deployment.Resources {
			if deployment.Resources[i].Type == kind && !yield(&deployment.Resources[i]) {
				return
			}
		}
	}
}

// Current yields the resources of a type without those that the engine has replaced and has still to delete.
func Current(deployment apitype.DeploymentV3, kind tokens.Type) iter.Seq[*apitype.ResourceV3] {
	return where(Every(deployment, kind), func(r *apitype.ResourceV3) bool { return !r.Delete })
}

// Existing yields the current resources of a type without those that the engine has deleted in order to replace them, and that stay
// in the state until their replacements are created.
func Existing(deployment apitype.DeploymentV3, kind tokens.Type) iter.Seq[*apitype.ResourceV3] {
	return where(Current(deployment, kind), func(r *apitype.ResourceV3) bool { return !r.PendingReplacement })
}

func where(resources iter.Seq[*apitype.ResourceV3], is func(*apitype.ResourceV3) bool) iter.Seq[*apitype.ResourceV3] {
	return func(yield func(*apitype.ResourceV3) bool) {
		for r := range resources {
			if is(r) && !yield(r) {
				return
			}
		}
	}
}

// first returns the first resource that meets a condition; nil if there is none.
func first(resources iter.Seq[*apitype.ResourceV3], is func(*apitype.ResourceV3) bool) *apitype.ResourceV3 {
	for r := range where(resources, is) {
		return r
	}
	return nil
}
