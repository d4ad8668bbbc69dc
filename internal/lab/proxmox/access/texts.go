package access

import "strings"

// Reread changes the texts of the database to what Proxmox VE returns after it has read user.cfg again, which it does at the
// next request (pve-access-control AccessControl.pm, write_user_config and parse_user_config): colons separate the fields,
// and spaces at their ends are trimmed. Other white space is escaped and stays (pve-common ParseUtils.pm, encode_text).
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

// reread returns a text after it was written and read. Perl treats "0" as empty.
func reread(text string) string {
	if text = strings.Trim(text, " "); text == "0" {
		return ""
	}

	return text
}
