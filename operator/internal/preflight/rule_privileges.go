package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// checkPrivileges compares the token's privileges with the role's privileges in the release, path by path (F12, F13).
func checkPrivileges(s *collector, inv *inventory.Inventory, found Snapshot) {
	release, err := role.ParseRelease(found.Version.Value)
	if err != nil {
		return // reported by checkVersion
	}
	reportPrivileges(s, needs(inv), release, found.Token, found.Privileges)
}

// reportPrivileges reports what the token lacks of what is needed.
func reportPrivileges(s *collector, asked []need, release role.Release, token string, privileges map[string]Reading[[]string]) {
	missing := map[string][]string{}
	var order []string
	for _, need := range asked {
		has := privileges[need.path]
		if has.Err != nil {
			s.unread("privileges", "what the token may do on "+need.path, has.Err)
			return
		}
		lacking := without(need.privilegesIn(release), slices.Concat(has.Value, privileges[need.pool].Value))
		if len(lacking) == 0 {
			continue
		}
		// The same missing privileges on several paths are one finding.
		key := strings.Join(lacking, " ")
		if missing[key] == nil {
			order = append(order, key)
		}
		if !slices.Contains(missing[key], need.path) {
			missing[key] = append(missing[key], need.path)
		}
	}
	for _, lacking := range order {
		s.fail("privileges", grantLine(lacking, missing[lacking], token),
			"token %s lacks %s on %s", token, strings.ReplaceAll(lacking, " ", ", "), listed(missing[lacking]))
	}
	if len(order) == 0 {
		s.ok("privileges", "token %s has what the plan needs", token)
	}
}

// grantLine returns the command that grants the role on a path. If the role itself lacks a privilege, `em-infra role` prints the
// repair.
func grantLine(privileges string, paths []string, token string) string {
	user, _, _ := strings.Cut(token, "!")
	if len(paths) > 1 {
		return fmt.Sprintf("as root on the host, what `em-infra role` prints; it gives %s to %s", privileges, user)
	}
	return fmt.Sprintf("as root on the host: `pveum acl modify %s --users %s --roles %s`; what the role itself lacks, `em-infra role` tells", paths[0], user, role.Name)
}

// without returns the words that are not among others, in order and without duplicates.
func without(words, others []string) []string {
	var rest []string
	for _, word := range words {
		if !slices.Contains(others, word) && !slices.Contains(rest, word) {
			rest = append(rest, word)
		}
	}
	return rest
}

// longestList is the maximum length of a list in a sentence.
const longestList = 6

// listed returns a list for a sentence, shortened if it is long.
func listed(words []string) string {
	if len(words) > longestList {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:longestList], ", "), len(words)-longestList)
	}
	return strings.Join(words, ", ")
}
