# asked:
package display

display_spec := [{"message": "Ticket:", "style": "prompt_echo_on", "key": "ticket"}]
