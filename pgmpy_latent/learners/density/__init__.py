"""Trees for prediction: hidden variables that are linked like the columns, with states chosen by held-out rows."""
