package risk

import "slices"

// Permission is the consent to one operation that would otherwise stop a run.
type Permission struct {
	// Flag of the command line, without its dashes.
	Flag string `json:"flag"`
	// Subject that the flag names; empty for a flag without one.
	Subject string `json:"subject,omitempty"`
}

// Flags for permissions.
const (
	FlagReplace = "allow-replace"
	FlagDelete  = "allow-delete"
	FlagChange  = "allow-change"
	// FlagVersionSkip allows an upgrade of Talos that leaves out a minor release or the latest patch release of one.
	FlagVersionSkip = "allow-version-skip"
)

// SubjectSecrets is the subject of FlagChange.
const SubjectSecrets = "secrets"

// String returns the permission as the user types it.
func (p Permission) String() string {
	if p.Subject == "" {
		return "--" + p.Flag
	}
	return "--" + p.Flag + " " + p.Subject
}

// Missing returns the permissions that an assessment needs and that are not in given, in its order.
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

// LostControlPlanes returns the names of the control planes whose machines are deleted or replaced.
func (a Assessment) LostControlPlanes() (names []string) {
	for _, f := range a.Findings {
		if f.rank == rankControlPlane && (f.Kind == Delete || f.Kind == Replace) {
			names = append(names, f.Subject)
		}
	}
	return names
}

// Impossible reports whether the assessment contains an impossible change.
func (a Assessment) Impossible() bool {
	return slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Kind == Impossible })
}
