package hostspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Access is what a stack wants of the roles, groups, users and permissions of Proxmox VE. What is not in it stays as it is.
type Access struct {
	Roles  []Role  `json:"roles,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	Users  []User  `json:"users,omitempty"`
	Grants []Grant `json:"grants,omitempty"`
}

// Role is a set of privileges.
type Role struct {
	Name       string   `json:"name"`
	Privileges []string `json:"privileges"`
}

// Group is a group of users.
type Group struct {
	Name    string `json:"name"`
	Comment string `json:"comment,omitempty"`
}

// User is a user of a realm. A comment, an email and groups that are left out stay as they are.
type User struct {
	// ID is USER@REALM.
	ID      string `json:"id"`
	Comment string `json:"comment,omitempty"`
	Email   string `json:"email,omitempty"`
	// Disabled is whether the user may not log in.
	Disabled bool `json:"disabled,omitempty"`
	// Expires is when the user can no longer log in, in seconds since 1970 UTC; 0 for never.
	Expires int64 `json:"expires,omitempty"`
	// Groups that the user is in. Memberships that are not named stay.
	Groups []string `json:"groups,omitempty"`
}

// Holder is the kind of the holder of a permission.
type Holder string

// The kinds of holders, by the names that the access control list of Proxmox VE gives them.
const (
	HolderUser  Holder = "user"
	HolderGroup Holder = "group"
	HolderToken Holder = "token"
)

// Grant is an entry of the access control list: a holder has a role on a path.
type Grant struct {
	Path   string `json:"path"`
	Role   string `json:"role"`
	Kind   Holder `json:"kind"`
	Holder string `json:"holder"`
	// Here is whether the role holds on the path alone, and not below it.
	Here bool `json:"here,omitempty"`
}

// Entry returns what identifies the permission: Proxmox VE has one entry for a role, a path and a holder, whatever its reach.
func (g Grant) Entry() Grant {
	g.Here = false
	return g
}

// String returns the permission in words, such as "PVEAuditor on /vms for group admins".
func (g Grant) String() string {
	words := g.Role + " on " + g.Path + " for " + string(g.Kind) + " " + g.Holder
	if g.Here {
		words += ", and not below it"
	}
	return words
}

// Token is an API token that a stack makes.
type Token struct {
	// ID is USER@REALM!NAME.
	ID string `json:"id"`
	// Owner is the name of the stack's resources. It is in the comment of the token.
	Owner   string `json:"owner"`
	Comment string `json:"comment,omitempty"`
	// Expires is when the token ends, in seconds since 1970 UTC; 0 for never.
	Expires int64 `json:"expires,omitempty"`
	// Separated is whether it has only those privileges of its user that its own permissions give, too. Otherwise it has all of its user.
	Separated bool `json:"separated,omitempty"`
	// Grants are all its permissions.
	Grants []Grant `json:"grants,omitempty"`
}

// CommentOf returns the comment of the token with its mark: the owner, and a part of the hash of its secret, which is empty until the token is
// complete.
func (t Token) CommentOf(token string) string {
	mark := "em-infra " + t.Owner
	if _, secret, isWhole := strings.Cut(token, "="); isWhole {
		sum := sha256.Sum256([]byte(secret))
		mark += " " + hex.EncodeToString(sum[:4])
	}
	return strings.TrimSpace(t.Comment + " (" + mark + ")")
}

// markForm matches the mark at the end of a comment: its owner, and the part of the hash.
var markForm = regexp.MustCompile(`\(em-infra (\S+?)(?: ([0-9a-f]{8}))?\)$`)

// MarkIn returns the owner that the comment of a token names, and the part of the hash of its secret. Both are empty in a comment without a mark.
func MarkIn(comment string) (owner, hash string) {
	if mark := markForm.FindStringSubmatch(comment); mark != nil {
		return mark[1], mark[2]
	}
	return "", ""
}

// ParseToken reads from the form of [Token.Text].
func ParseToken(text string) (t Token, err error) {
	return t, json.Unmarshal([]byte(text), &t)
}

// Text returns the token as JSON, without its secret.
func (t Token) Text() string { return text(t) }

// ParseAccess reads from the form of [Access.Text].
func ParseAccess(text string) (a Access, err error) {
	return a, json.Unmarshal([]byte(text), &a)
}

// Text returns the wanted access as JSON.
func (a Access) Text() string { return text(a) }

// made is what the Command of the access control prints, and what the next run of it reads.
type made struct {
	Made []string `json:"made"`
}

// MadeText returns the names of what a stack has made, as JSON in one line.
func MadeText(names []string) string { return text(made{names}) }

// ParseMade reads names from the form of [MadeText]; an empty text has none.
func ParseMade(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var before made
	err := json.Unmarshal([]byte(text), &before)
	return before.Made, err
}

// IsEmpty reports whether nothing is wanted.
func (a Access) IsEmpty() bool { return len(a.Roles)+len(a.Groups)+len(a.Users)+len(a.Grants) == 0 }

// Without returns the roles, groups and users that another access control does not have.
func (a Access) Without(other Access) Access {
	a.Roles = slices.DeleteFunc(slices.Clone(a.Roles), func(r Role) bool {
		return slices.ContainsFunc(other.Roles, func(o Role) bool { return o.Name == r.Name })
	})
	a.Groups = slices.DeleteFunc(slices.Clone(a.Groups), func(g Group) bool {
		return slices.ContainsFunc(other.Groups, func(o Group) bool { return o.Name == g.Name })
	})
	a.Users = slices.DeleteFunc(slices.Clone(a.Users), func(u User) bool {
		return slices.ContainsFunc(other.Users, func(o User) bool { return o.ID == u.ID })
	})
	return a
}

// Names returns what is wanted, a text for each kind, such as "roles Backup, Viewer".
func (a Access) Names() []string {
	var texts []string
	add := func(noun string, names []string) {
		if len(names) > 0 {
			texts = append(texts, noun+" "+strings.Join(names, ", "))
		}
	}
	var roles, groups, users []string
	for _, role := range a.Roles {
		roles = append(roles, role.Name)
	}
	for _, group := range a.Groups {
		groups = append(groups, group.Name)
	}
	for _, user := range a.Users {
		users = append(users, user.ID)
	}
	add("roles", roles)
	add("groups", groups)
	add("users", users)
	return texts
}

// TokenOf splits USER@REALM!NAME, the ID of a token.
func TokenOf(id string) (user, name string) {
	user, name, _ = strings.Cut(id, "!")
	return user, name
}
