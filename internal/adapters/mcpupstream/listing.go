package mcpupstream

import "github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"

// Listing is everything that an upstream offered at one time.
type Listing = answer.Catalog

// RawTool is one definition, strict JSON, byte for byte as it was sent.
type RawTool = answer.RawTool
