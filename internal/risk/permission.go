package risk

import "slices"

// Permission is the consent to one deed that would otherwise stop a run.
type Permission struct {
	// Flag of the command line, without its dashes.
	Flag string `json:"flag"`
	// Subject that the flag has to name; empty for a flag without one.
	Subject string `json:"subject,omitempty"`
}

// Flags that give permissions.
const (
	FlagReplace    = "allow-replace"
	FlagDelete     = "allow-delete"
	FlagChange     = "allow-change"
	FlagQuorumLoss = "allow-quorum-loss"
)

// SubjectSecrets is what FlagChange is for.
const SubjectSecrets = "secrets"

// String returns the permission as it is typed.
func (p Permission) String() string {
	if p.Subject == "" {
		return "--" + p.Flag
	}
	return "--" + p.Flag + " " + p.Subject
}

// Missing returns the permissions that an assessment needs and that were not given, in its order.
func (a Assessment) Missing(given []Permission) []Permission {
	var missing []Permission
	for _, finding := range a.Findings {
		for _, needed := range finding.Needs {
			if !slices.Contains(given, needed) && !slices.Contains(missing, needed) {
				missing = append(missing, needed)
			}
		}
	}
	return missing
}

// Impossible says that something in the assessment cannot be done at all.
func (a Assessment) Impossible() bool {
	return slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Kind == Impossible })
}
