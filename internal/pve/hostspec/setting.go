package hostspec

// Setting is a setting by its name in the API, which is that in the configuration files of Proxmox VE.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// withValues returns the settings that have a value: those without one stay as they are.
func withValues(settings []Setting) []Setting {
	given := settings[:0]
	for _, one := range settings {
		if one.Value != "" {
			given = append(given, one)
		}
	}
	return given
}

// wordsOf returns settings as NAME: VALUE, without those that have no value.
func wordsOf(settings []Setting) []string {
	var words []string
	for _, one := range settings {
		if one.Value != "" {
			words = append(words, one.Name+": "+one.Value)
		}
	}
	return words
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return ""
}
