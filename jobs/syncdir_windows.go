package jobs

// unsyncable: Windows keeps entries by itself, and refuses to be asked.
func unsyncable(error) bool { return true }
