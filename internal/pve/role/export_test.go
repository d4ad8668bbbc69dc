package role

// Row is a line of the table of privileges in docs/security.md.
type Row struct {
	Privilege, Purpose string
	Scopes             []Scope
	Since, Until       Release
}

// Rows returns the privileges in their order.
func Rows() []Row {
	rows := make([]Row, 0, len(grants))
	for _, g := range grants {
		rows = append(rows, Row{Privilege: g.privilege, Purpose: g.purpose, Scopes: g.scopes, Since: g.since, Until: g.until})
	}
	return rows
}
