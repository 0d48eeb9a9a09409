// The vulnerability database, as data: nothing here is compiled. The scan is as
// fresh as this version; raise it at each release.
module github.com/stewardhost/steward/tools/vulndb

go 1.26.7

require golang.org/x/vulndb v0.0.0-20261105234957-e22db6528018
