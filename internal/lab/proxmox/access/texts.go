package access

import "strings"

// Reread takes the texts of the database as Proxmox VE has them once it has read user.cfg again, which it does with the
// next request (pve-access-control AccessControl.pm, write_user_config and parse_user_config): fields stand between colons,
// with the spaces at their ends trimmed away. Other white space is written escaped and stays (pve-common ParseUtils.pm,
// encode_text).
func (d *Database) Reread() {
	for _, user := range d.Users {
		for _, text := range []*string{&user.FirstName, &user.LastName, &user.Email, &user.Comment, &user.Keys} {
			*text = reread(*text)
		}

		for _, token := range user.Tokens {
			token.Comment = reread(token.Comment)
		}
	}

	for _, group := range d.Groups {
		group.Comment = reread(group.Comment)
	}

	for _, pool := range d.Pools {
		pool.Comment = reread(pool.Comment)
	}
}

// reread is a text as it comes back. Perl takes "0" for none.
func reread(text string) string {
	if text = strings.Trim(text, " "); text == "0" {
		return ""
	}

	return text
}
