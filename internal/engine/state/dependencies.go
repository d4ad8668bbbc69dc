package state

import (
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Dependencies returns the resources that each resource depends on, with its provider, in the order of the state. Resources without any
// are left out.
func Dependencies(deployment apitype.DeploymentV3) map[resource.URN][]resource.URN {
	found := make(map[resource.URN][]resource.URN)
	for _, one := range deployment.Resources {
		needed := slices.Clone(one.Dependencies)
		if provider, _, isReference := cutLast(one.Provider, "::"); isReference { // URN::ID
			needed = append(needed, resource.URN(provider))
		}
		for _, urn := range needed {
			if !slices.Contains(found[one.URN], urn) {
				found[one.URN] = append(found[one.URN], urn)
			}
		}
	}
	return found
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
