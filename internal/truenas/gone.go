package truenas

import (
	"os"
	"strings"
)

// GoneVariable names the endpoint of a box that is gone for good. What a stack has there is forgotten then instead of deleted, unless the box
// answers after all, even if it refuses the login (docs/decisions/0096).
const GoneVariable = "EM_INFRA_NAS_GONE"

// IsGoneForGood reports whether [GoneVariable] names the box with an endpoint.
func IsGoneForGood(endpoint string) bool {
	named := strings.TrimSuffix(os.Getenv(GoneVariable), "/")
	return named != "" && named == strings.TrimSuffix(endpoint, "/")
}

// OrGoneForGood returns the end of a sentence about a box that does not answer, for a run that would delete something there.
func OrGoneForGood(endpoint string) string {
	return "; or if that box is gone for good, set " + GoneVariable + "=" + endpoint + ", which forgets what this stack has there"
}
