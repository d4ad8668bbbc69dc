package role

import (
	"fmt"
	"strings"
)

// Token names an API token: the user that it belongs to, and its own name.
type Token struct{ User, Name string }

// DefaultToken is the token of the documentation.
var DefaultToken = Token{User: "em-infra@pve", Name: "operator"}

// ParseToken reads USER@REALM!NAME; it drops the text after a =, so that the secret of a whole token is not kept.
func ParseToken(text string) (Token, error) {
	id, _, _ := strings.Cut(text, "=")
	user, name, found := strings.Cut(id, "!")
	if !found || name == "" || !strings.Contains(user, "@") {
		return Token{}, fmt.Errorf("the token has not the form USER@REALM!NAME: write one like %s", DefaultToken)
	}
	return Token{User: user, Name: name}, nil
}

// String returns USER@REALM!NAME.
func (t Token) String() string { return t.User + "!" + t.Name }

// Commands returns the commands that create the role, the user, the token and their permissions on a host, in this order, as
// root. The token has the privileges of its user, which has only the role: one entry then contains all its permissions. The
// entry is on /, since Sys.Modify is required on that path.
func Commands(need Need, token Token) []string {
	return []string{
		roleCommand("add", need),
		"pveum user add " + token.User,
		"pveum acl modify / --users " + token.User + " --roles " + Name,
		fmt.Sprintf("pveum user token add %s %s --privsep 0", token.User, token.Name),
	}
}

func roleCommand(verb string, need Need) string {
	return fmt.Sprintf(`pveum role %s %s --privs "%s"`, verb, Name, strings.Join(need.Privileges(), " "))
}
