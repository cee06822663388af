// The numbers that make a rule, as they lie in memory: a mask's address in two and its ids, four bans by their ends,
// where mass counts from, temperature, uniform. (engine.Rule)
#pragma once

enum { RULE_WORDS = 14, RULE_MASK = 0, RULE_MASKED = 2, RULE_BANS = 3, RULE_MASS_FROM = 11, RULE_TEMPERATURE = 12, RULE_UNIFORM = 13 };
